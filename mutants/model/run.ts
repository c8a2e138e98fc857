/** Runs all mutants of the rules against the tests next to them. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runProgram } from '../run-program.ts'
import { renderShare, share } from '../score.ts'
import type { Mutant } from './instrument.ts'
import { instrumentAll } from './plugin.ts'
import type { RunnerLine } from './runner.ts'

export type ModelVerdict = { mutant: Mutant; killedBy: string | null }

const wholeMsMax = 3_600_000
const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'mutants/model/vitest.config.ts']

/** Below this share the run fails. */
const shareMin = 0.95

/** `files`: only the mutants of these. */
export async function runModel(root: string, files: ReadonlySet<string> | null): Promise<ModelVerdict[]> {
  const all = [...instrumentAll(root)]
    .filter(([file]) => files?.has(file) ?? true)
    .flatMap(([, { mutants }]) => mutants)
  const tests = files === null ? [] : findTests(root, files)
  const ids = files === null ? {} : { MUTANTS_IDS: all.map(({ id }) => id).join() }
  const shards = tests.length > 0 || process.env['VITEST_MAX_WORKERS'] === '1' ? ['1/1'] : ['1/2', '2/2']
  const lines = await Promise.all(
    shards.map((shard) => runTogether(root, [...tests, `--shard=${shard}`], ids)),
  )
  const killed = new Map(lines.flat().flatMap((line) => line.killed))
  return all.map((mutant) => ({ mutant, killedBy: killed.get(mutant.id) ?? null }))
}

/** The tests of a file are those that begin with its name; without one, all. */
function findTests(root: string, files: ReadonlySet<string>): string[] {
  const near = [...files].map((file) => file.replace(/\.ts$/, ''))
  return near.every((name) => existsSync(join(root, `${name}.test.ts`))) ? near : []
}

async function runTogether(
  root: string,
  tests: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<RunnerLine[]> {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-mutants-model-'))
  const out = join(directory, 'killed.jsonl')
  try {
    const ran = await runProgram(root, [...vitest, ...tests], wholeMsMax, { ...env, MUTANTS_OUT: out })
    if (ran.code !== 0) throw new Error(`the tests of the rules fail without any mutant:\n${ran.output}`)
    return readFileSync(out, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as RunnerLine)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const countKilled = (verdicts: readonly ModelVerdict[]) => ({
  killed: verdicts.filter(({ killedBy }) => killedBy !== null).length,
  total: verdicts.length,
})

export const shareByFile = (verdicts: readonly ModelVerdict[]): Map<string, number> =>
  new Map(
    [...Map.groupBy(verdicts, ({ mutant }) => mutant.file)].map(([file, found]) => [
      file,
      Math.floor(share(countKilled(found)) * 1000) / 1000,
    ]),
  )

export const modelPasses = (verdicts: readonly ModelVerdict[]): boolean =>
  share(countKilled(verdicts)) >= shareMin

export function renderModelScore(verdicts: readonly ModelVerdict[]): string[] {
  const files = [...Map.groupBy(verdicts, ({ mutant }) => mutant.file)]
  const row = (name: string, found: readonly ModelVerdict[]): string => {
    const count = countKilled(found)
    return `| ${name} | ${count.total} | ${count.killed} | ${renderShare(count)} |`
  }
  return [
    '| file | mutants | killed | share |\n| --- | ---: | ---: | ---: |',
    ...files.map(([file, found]) => row(file, found)),
    row('src/model', verdicts),
  ]
}

export const renderModelSurvivors = (verdicts: readonly ModelVerdict[]): string[] =>
  verdicts
    .filter(({ killedBy }) => killedBy === null)
    .map(({ mutant: { file, line, kind, original } }) => `survived: ${file}:${line}: ${kind}: ${original}`)
