/**
 * Runs the test files of a worker one after another in the same process, in which the sources stay loaded: to load
 * several hundred modules for each file would take longer than most tests. The kits and the test files are loaded
 * anew, so that what a kit registers (`afterEach` and the like) or keeps belongs to one file.
 */
import { TestRunner } from 'vitest'
import type { EvaluatedModuleNode, ModuleRunner } from 'vite/module-runner'

const ofOneFile = /\/test\/kits\/|\.test\.ts$/

export default class FileByFile extends TestRunner {
  override importFile(...[path, source]: Parameters<TestRunner['importFile']>): unknown {
    if (source === 'collect') forget(this['moduleRunner'] as ModuleRunner)
    return super.importFile(path, source)
  }
}

/** What was compiled is kept, as it is by `vi.resetModules`. */
function forget({ evaluatedModules }: ModuleRunner): void {
  for (const [id, module] of evaluatedModules.idToModuleMap) if (ofOneFile.test(id)) unload(module)
}

function unload(module: EvaluatedModuleNode): void {
  module.promise = undefined
  module.exports = undefined
  module.evaluated = false
  module.importers.clear()
}
