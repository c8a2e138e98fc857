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

type Report = {
  testResults: { name: string; message: string; assertionResults: { status: string; fullName: string }[] }[]
}

export async function judge(scratch: Scratch, mutation: Mutation): Promise<Verdict> {
  const startedAt = Date.now()
  const killedBy = await scratch.within(
    mutation,
    async () => (await runTests(scratch, mutation.tests)) ?? (await runSim(scratch, mutation.seeds ?? 0)),
  )
  return { mutation, killedBy, seconds: (Date.now() - startedAt) / 1000 }
}

/** What failed first; null if all tests pass. */
export async function runTests(scratch: Scratch, tests: readonly string[]): Promise<string | null> {
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
  if (ran.late) return 'the time limit of the tests'
  if (ran.code === 0) return null
  return nameFailure(report) ?? `the tests did not run: ${ran.output.trim().slice(-300)}`
}

function nameFailure(report: string): string | null {
  try {
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report
    for (const { name, message, assertionResults } of testResults) {
      const file = name.slice(name.search(/(src|test)\//))
      const failed = assertionResults.find(({ status }) => status === 'failed')
      if (failed !== undefined) return `${file}: ${failed.fullName}`
      if (message !== '') return `${file}: ${message.split('\n')[0] ?? ''}`
    }
    return null
  } catch {
    return null
  }
}

async function runSim(scratch: Scratch, seeds: number): Promise<string | null> {
  if (seeds === 0) return null
  const ran = await runProgram(scratch.path, ['sim/main.ts', '--seeds', String(seeds)], simMsMax)
  if (ran.late) return 'the time limit of the simulator'
  if (ran.code === 0) return null
  return `the simulator: ${/^seed .*$/m.exec(ran.output)?.[0] ?? ran.output.trim().slice(-200)}`
}
