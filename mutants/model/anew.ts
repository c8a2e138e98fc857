/**
 * A test file with all that it imports, loaded again. What a module does when it is loaded, such as making a
 * table, happens only then; and what a module remembers would hide a mutant, or outlive it.
 */
import { collectTests } from 'vitest/internal/browser'
import { vi, type RunnerTask, type RunnerTestCase, type TestRunner } from 'vitest'

/** Tests of the file, or what kept it from being loaded. */
export async function loadAnew(runner: TestRunner, path: string): Promise<RunnerTestCase[] | Error> {
  vi.resetModules()
  // The same runner, but for its reports: this file is reported where it first ran.
  const silent = Object.create(runner, {
    onBeforeCollect: { value: undefined },
    onCollected: { value: undefined },
    importFile: { value: runner.importFile.bind(runner) },
    onCollectStart: { value: undefined },
  }) as TestRunner
  const [file] = await collectTests([path], silent)
  const problem = file?.result?.errors?.[0]
  return problem === undefined ? testsIn(file?.tasks ?? []) : new Error(problem.message)
}

const testsIn = (tasks: readonly RunnerTask[]): RunnerTestCase[] =>
  tasks.flatMap((task) => (task.type === 'test' ? [task] : testsIn(task.tasks)))
