/** Whether a mutation is noticed: by the tests nearest to it, or by the simulator. */
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Mutation } from './mutation.ts'
import { runProgram } from './run-program.ts'
import type { Scratch } from './scratch.ts'
import type { TriedFile } from './tester.ts'

export type Verdict = { mutation: Mutation; killedBy: string | null; seconds: number }

/** Much longer than any of the tests takes: a mutant that runs into it hangs. */
const testsMsMax = 240_000
const simMsMax = 300_000

/** What failed first, and whether only time decided that. */
type Failure = { name: string; isTimed: boolean }

export async function judge(scratch: Scratch, mutation: Mutation): Promise<Verdict> {
  const startedAt = Date.now()
  const first = await tryOnce(scratch, mutation)
  const failure = first?.isTimed === true ? await tryAgain(scratch, mutation) : first
  return {
    mutation,
    killedBy: failure?.name ?? null,
    seconds: (Date.now() - startedAt) / 1000,
  }
}

const tryOnce = (scratch: Scratch, mutation: Mutation): Promise<Failure | null> =>
  scratch.within(mutation, () => runAll(scratch, mutation))

/**
 * On a full machine everything is late: that is a mistake's doing only if the same is in time without it, and
 * late once more with it.
 */
const tryAgain = async (scratch: Scratch, mutation: Mutation): Promise<Failure | null> =>
  (await runAll(scratch, mutation)) === null ? tryOnce(scratch, mutation) : null

const runAll = async (scratch: Scratch, { tests, seeds = 0 }: Mutation): Promise<Failure | null> =>
  (await runTests(scratch, tests)) ?? (await runSim(scratch, seeds))

/** All tests beside the file, for a mistake that those which its entry names do not notice. */
export const nearAll = (root: string, { file, tests }: Mutation): string[] =>
  readdirSync(join(root, dirname(file)))
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(dirname(file), name))
    .filter((name) => !tests.includes(name))

/** What failed first; null if all tests pass. */
export async function runTests({ program }: Scratch, tests: readonly string[]): Promise<Failure | null> {
  const { files, late } = await program.run(tests, testsMsMax)
  return late ? { name: 'the time limit of the tests', isTimed: true } : findFailure(files)
}

const timed = /timed out|time limit|did not succeed in time/i

/** Exported for its test. */
export function findFailure(files: readonly TriedFile[]): Failure | null {
  for (const { file, errors, failed } of files) {
    const [first] = failed
    if (first !== undefined)
      return { name: `${file}: ${first.name}`, isTimed: first.errors.some((why) => timed.test(why)) }
    const [why] = errors
    if (why !== undefined) return { name: `${file}: ${why.split('\n')[0] ?? ''}`, isTimed: timed.test(why) }
  }
  return null
}

async function runSim(scratch: Scratch, seeds: number): Promise<Failure | null> {
  if (seeds === 0) return null
  const ran = await runProgram(scratch.path, ['sim/main.ts', '--seeds', String(seeds)], simMsMax)
  if (ran.late) return { name: 'the time limit of the simulator', isTimed: true }
  if (ran.code === 0) return null
  const said = /^seed .*$/m.exec(ran.output)?.[0] ?? ran.output.trim().slice(-200)
  return { name: `the simulator: ${said}`, isTimed: false }
}
