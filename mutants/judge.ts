/** Whether a mutation is noticed: by the tests nearest to it, or by the simulator. */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Mutation } from './mutation.ts'
import { runProgram } from './run-program.ts'
import type { Scratch } from './scratch.ts'

export type Verdict = { mutation: Mutation; killedBy: string | null; seconds: number }

/** Much longer than any of the tests takes: a mutant that runs into it hangs. */
const testsMsMax = 240_000
const simMsMax = 300_000

type Asserted = { status: string; fullName: string; failureMessages?: readonly string[] | null }
type Report = { testResults: { name: string; message: string; assertionResults: Asserted[] }[] }

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

/** What failed first; null if all tests pass. */
export async function runTests(scratch: Scratch, tests: readonly string[]): Promise<Failure | null> {
  const report = join(scratch.path, 'mutants-report.json')
  rmSync(report, { force: true })
  const ran = await runProgram(
    scratch.path,
    [
      'node_modules/vitest/vitest.mjs',
      'run',
      ...tests,
      '--bail=1',
      '--reporter=json',
      `--outputFile=${report}`,
      '--maxWorkers=1',
    ],
    testsMsMax,
  )
  if (ran.late) return { name: 'the time limit of the tests', isTimed: true }
  if (ran.code === 0) return null
  return (
    nameFailure(report) ?? {
      name: `the tests did not run: ${ran.output.trim().slice(-300)}`,
      isTimed: false,
    }
  )
}

function nameFailure(report: string): Failure | null {
  try {
    return findFailure(JSON.parse(readFileSync(report, 'utf8')) as Report)
  } catch {
    return null
  }
}

/** Exported for its test. */
export function findFailure({ testResults }: Report): Failure | null {
  for (const { name, message, assertionResults } of testResults) {
    const file = name.slice(name.search(/(src|test)\//))
    const failed = assertionResults.find(({ status }) => status === 'failed')
    if (failed !== undefined)
      return {
        name: `${file}: ${failed.fullName}`,
        isTimed: failed.failureMessages?.some((why) => /timed out|time limit/i.test(why)) ?? false,
      }
    if (message !== '') return { name: `${file}: ${message.split('\n')[0] ?? ''}`, isTimed: false }
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
