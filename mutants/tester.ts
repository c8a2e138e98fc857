/**
 * A program that runs tests of the scratch copy whenever it is asked, the quickest first, until one fails. It
 * keeps what it has compiled: starting anew for each mutation takes longer than most tests.
 */
import { join } from 'node:path'
import { BaseSequencer, createVitest, type TestModule, type TestSpecification } from 'vitest/node'
import { markName } from './run-program.ts'

/** `changed`: the files that may have another text than the last time. */
export type Question = { tests: readonly string[]; changed: readonly string[]; mark: string }

export type TriedFile = { file: string; errors: string[]; failed: { name: string; errors: string[] }[] }
export type Answer = { files: TriedFile[] } | { fault: string }

/** Tests that hang must not hold up all others. That only time decided is looked at again (`judge.ts`). */
const testMsMax = 30_000
const pollMsMax = 10_000

const root = process.cwd()
const msByFile = new Map<string, number>()
/** The files that this run has come to; Vitest itself remembers those of earlier runs too. */
let ended: TestModule[] = []

class InOrder extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const ms = ({ moduleId }: TestSpecification): number => msByFile.get(moduleId) ?? 0
    return Promise.resolve(files.toSorted((a, b) => ms(a) - ms(b)))
  }
}

const vitest = await createVitest('test', {
  root,
  watch: false,
  bail: 1,
  isolate: false,
  fsModuleCache: false,
  maxWorkers: 1,
  testTimeout: testMsMax,
  hookTimeout: testMsMax,
  expect: { poll: { timeout: pollMsMax } },
  sequence: { sequencer: InOrder },
  reporters: [{ onTestModuleEnd: (module) => void ended.push(module) }],
})
await vitest.standalone()

async function run({ tests, changed, mark }: Question): Promise<Answer> {
  process.env[markName] = mark
  ended = []
  for (const file of changed) vitest.invalidateFile(join(root, file))
  const specifications = tests.flatMap((test) =>
    vitest.projects.map((project) => project.createSpecification(join(root, test))),
  )
  const { unhandledErrors } = await vitest.runTestSpecifications(specifications)
  const files = ended.map(describeFile)
  const thrown = unhandledErrors.map(describeError)
  return { files: thrown.length === 0 ? files : [...files, { file: 'a test', errors: thrown, failed: [] }] }
}

function describeFile(module: TestModule): TriedFile {
  const { duration, collectDuration } = module.diagnostic()
  if (module.state() === 'passed') msByFile.set(module.moduleId, duration + collectDuration)
  return {
    file: module.relativeModuleId,
    errors: [...module.errors()].map(describeError),
    failed: [...module.children.allTests('failed')].map((test) => ({
      name: test.fullName.replaceAll(' > ', ' '),
      errors: (test.result().errors ?? []).map(describeError),
    })),
  }
}

const describeError = (error: unknown): string => {
  const { message, cause } = Object(error) as { message?: unknown; cause?: unknown }
  return cause === undefined ? String(message) : `${String(message)} (${describeError(cause)})`
}

process.on('message', (question: Question) => {
  void run(question)
    .catch((error: unknown) => ({ fault: describeError(error) }))
    .then((answer) => process.send?.(answer))
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
