/** Import time, cold start and install size. The package is packed and installed as a user would do it. */
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { Progress } from './progress.ts'
import { formatNumber, formatRatio, requireAtMost, type Check, type Part, type Table } from './report.ts'
import { median } from './round.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const run = promisify(execFile)
const rounds = 7
const installMbMax = 80

const importScript = (what: string): string =>
  `const from = performance.now(); await import(${JSON.stringify(what)}); console.log(performance.now() - from)`

/** The clock starts with the process, so this includes the start of Node. */
const oursCold = (what: string, data: string): string => `
const { tieline } = await import(${JSON.stringify(what)})
const line = await tieline({ dataDir: ${JSON.stringify(data)}, agents: {
  planner: {
    tools: ['sub_agent'],
    allowSubAgentCalls: true,
    script: async (turn) => {
      const answer = await turn.tool('sub_agent', { agent_name: 'coder', task: 'Say it.' })
      return JSON.stringify(answer.value)
    },
  },
  coder: { script: () => 'Said.' },
} })
const result = await line.run('planner', 'Have it said.')
if (!result.success || !result.output.includes('Said.')) throw new Error(JSON.stringify(result))
console.log(performance.now())
await line.close()`

const rivalCold = (name: string): string => `
const { start } = await import(${JSON.stringify(pathToFileURL(join(root, 'bench/contenders', `${name}.ts`)).href)})
const contender = await start()
await contender.one()
console.log(performance.now())
await contender.close()`

async function timeScript(script: string, cwd: string): Promise<number> {
  const { stdout } = await run(process.execPath, ['--no-warnings', '--input-type=module', '-e', script], {
    cwd,
    timeout: 60_000,
  })
  return Number(stdout.trim().split('\n').at(-1))
}

/** Packs and installs into `directory`. Without a network, the built files are measured instead of the package. */
async function install(
  directory: string,
  progress: Progress,
): Promise<{ specifier: string; cwd: string; installKb: number | null; note: string | null }> {
  const npm = { maxBuffer: 64 * 1024 * 1024, timeout: 120_000 }
  try {
    await run('npm', ['pack', '--pack-destination', directory], { ...npm, cwd: root })
    progress.step('packed')
    writeFileSync(join(directory, 'package.json'), '{ "name": "user", "private": true, "type": "module" }')
    const { stdout } = await run(
      'sh',
      ['-c', 'npm install --omit=dev --no-audit --no-fund ./tieline-*.tgz >&2 && du -sk node_modules'],
      { ...npm, cwd: directory },
    )
    progress.step('installed')
    return { specifier: 'tieline', cwd: directory, installKb: Number.parseInt(stdout, 10), note: null }
  } catch (error) {
    const dist = join(root, 'dist/index.js')
    const file = existsSync(dist) ? dist : join(root, 'src/index.ts')
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
    return {
      specifier: pathToFileURL(file).href,
      cwd: root,
      installKb: null,
      note: [
        `The package could not be packed and installed (${reason}).`,
        `So ${file} was measured, and the install size was not.`,
      ].join(' '),
    }
  }
}

export async function startup(progress: Progress): Promise<Part> {
  progress.part('startup', 2 + rounds)
  const directory = mkdtempSync(join(tmpdir(), 'tieline-bench-install-'))
  try {
    const ours = await install(directory, progress)
    const taken: Record<string, number[]> = {}
    const take = async (name: string, script: string, cwd: string): Promise<void> =>
      void (taken[name] ??= []).push(await timeScript(script, cwd))
    for (let round = 0; round < rounds; round += 1) {
      await take('import tieline', importScript(ours.specifier), ours.cwd)
      await take('import ai', importScript('ai'), root)
      await take('import @openai/agents', importScript('@openai/agents'), root)
      await take(
        'first delegation, Tieline',
        oursCold(ours.specifier, join(directory, `data-${round}`)),
        ours.cwd,
      )
      await take('first delegation, AI SDK 7', rivalCold('ai-sdk'), root)
      await take('first delegation, OpenAI Agents SDK', rivalCold('openai-agents'), root)
      progress.step('fresh processes')
    }
    return buildPart(
      Object.fromEntries(Object.entries(taken).map(([name, list]) => [name, median(list)])),
      ours,
    )
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

function buildPart(
  ms: Readonly<Record<string, number>>,
  { installKb, note }: { installKb: number | null; note: string | null },
): Part {
  const at = (name: string): number => ms[name] ?? Number.NaN
  const base = (name: string): number =>
    at(name.startsWith('import') ? 'import ai' : 'first delegation, AI SDK 7')
  const tables: Table[] = [
    {
      title: `Start, ms in fresh processes (median of ${rounds}, alternating)`,
      columns: ['', 'ms', 'of AI SDK'],
      rows: Object.keys(ms).map((name) => [name, formatNumber(at(name)), formatRatio(at(name) / base(name))]),
    },
  ]
  const checks: Check[] = [
    requireAtMost('import time against `ai`', at('import tieline') / at('import ai'), 1.5, '×'),
  ]
  if (installKb !== null) {
    tables.push({
      title: 'Install size',
      columns: ['', 'MB'],
      rows: [['node_modules of a user, without development dependencies', formatNumber(installKb / 1024)]],
    })
    checks.push(requireAtMost('install size', installKb / 1024, installMbMax, ' MB'))
  }
  return { name: 'startup', tables, checks, notes: note === null ? [] : [note] }
}
