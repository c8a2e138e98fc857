/** Runs all mutants of the rules against the tests next to them. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProgress } from '../../sim/progress.ts'
import { runProgram } from '../run-program.ts'
import { renderShare, share } from '../score.ts'
import type { Mutant } from './instrument.ts'
import { instrumentAll } from './plugin.ts'
import type { RunnerLine } from './runner.ts'

export type ModelVerdict = { mutant: Mutant; killedBy: string | null }

const wholeMsMax = 3_600_000
const oneMsMax = 120_000
const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'mutants/model/vitest.config.ts']

/** Below this share the run fails. */
const shareMin = 0.95

/** `files`: only the mutants of these. `fixedMax`: so many of those that need a process of their own. */
export async function runModel(
  root: string,
  files: ReadonlySet<string> | null,
  fixedMax: number,
): Promise<ModelVerdict[]> {
  const all = [...instrumentAll(root)]
    .filter(([file]) => files?.has(file) ?? true)
    .flatMap(([, { mutants }]) => mutants)
  const tests = files === null ? [] : findTests(root, files)
  const killed = new Map<number, string>()
  const ids = files === null ? {} : { MUTANTS_IDS: all.map(({ id }) => id).join() }
  const shards = tests.length === 1 ? ['1/1'] : ['1/2', '2/2']
  const lines = await Promise.all(
    shards.map((shard) => runTogether(root, [...tests, `--shard=${shard}`], ids)),
  )
  for (const line of lines.flat()) for (const [id, by] of line.killed) killed.set(id, by)
  const fixed = all.filter(({ isStatic }) => isStatic)
  const tried = new Set(fixed.slice(0, fixedMax))
  const progress = startProgress(tried.size, 'mutants of tables')
  const waiting = [...tried]
  const tryFixed = async (): Promise<void> => {
    for (let mutant = waiting.pop(); mutant !== undefined; mutant = waiting.pop()) {
      const by = await runAlone(root, mutant)
      if (by !== null) killed.set(mutant.id, by)
      progress.show(tried.size - waiting.length, '')
    }
  }
  await Promise.all([tryFixed(), tryFixed()])
  progress.end()
  const counted = all.filter((mutant) => !mutant.isStatic || tried.has(mutant))
  return counted.map((mutant) => ({ mutant, killedBy: killed.get(mutant.id) ?? null }))
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

/** A table is made once, when its module is loaded: its mutant needs a process of its own. */
async function runAlone(root: string, { id, file }: Mutant): Promise<string | null> {
  const near = findTests(root, new Set([file]))
  const ran = await runProgram(root, [...vitest, ...near, '--bail=1'], oneMsMax, {
    MUTANTS_ACTIVE: String(id),
  })
  if (ran.late) return 'the time limit'
  return ran.code === 0 ? null : (/FAIL +(.*)/.exec(ran.output)?.[1] ?? 'it does not load')
}

const countKilled = (verdicts: readonly ModelVerdict[]) => ({
  killed: verdicts.filter(({ killedBy }) => killedBy !== null).length,
  total: verdicts.length,
})

/** Without the mutants of tables, which a short run leaves out. */
export const shareByFile = (verdicts: readonly ModelVerdict[]): Map<string, number> =>
  new Map(
    [
      ...Map.groupBy(
        verdicts.filter(({ mutant }) => !mutant.isStatic),
        ({ mutant }) => mutant.file,
      ),
    ].map(([file, found]) => [file, Math.floor(share(countKilled(found)) * 1000) / 1000]),
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
