/**
 * The adapters that make Claude Code and Codex speak ACP: packages of the npm registry, installed by npm into the
 * data directory, without the program of the vendor that they would bring along. The user's own is used.
 */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Adapter } from '../../adapters/acp/presets.ts'
import { adapterDirectory, findAdapter, findExecutable } from '../../adapters/acp/program.ts'
import type { FoundAgent } from './up-plan.ts'
import type { Surroundings } from './init-entries.ts'

const installMsMax = 300_000

export type WantedAdapter = Adapter & { of: string; directory: string }

/** Those of found programs that are neither in the data directory nor on the PATH. */
export const listAdapters = (
  found: readonly FoundAgent[],
  at: Surroundings,
  dataDir: string,
): WantedAdapter[] =>
  found.flatMap(({ preset: { adapter, name: of } }) => {
    const own = { env: at.env, home: at.home, dataDir, path: at.env['PATH'] ?? '' }
    return adapter === null || findAdapter(adapter, own) !== null
      ? []
      : [{ ...adapter, of, directory: adapterDirectory(dataDir) }]
  })

/** Retries would keep a person waiting for minutes where there is no network. */
const npmArgs = (adapters: readonly WantedAdapter[]): string[] => [
  'install',
  '--prefix',
  adapters[0]?.directory ?? '.',
  '--omit=optional',
  '--no-fund',
  '--no-audit',
  '--loglevel=error',
  '--fetch-retries=1',
  ...adapters.map(({ package: name, version }) => `${name}@${version}`),
]

/** As a person would type it. */
export const renderInstall = (adapters: readonly WantedAdapter[]): string =>
  `npm ${npmArgs(adapters).join(' ')}`

/** What went wrong, or null. */
export async function installAdapters(
  adapters: readonly WantedAdapter[],
  at: Surroundings,
): Promise<string | null> {
  const npm = findExecutable('npm', at.env['PATH'] ?? '')
  if (npm === null) return `npm was not found on your PATH; run: ${renderInstall(adapters)}`
  for (const { directory } of adapters) mkdirSync(directory, { recursive: true, mode: 0o700 })
  const said = await runNpm(npm, npmArgs(adapters), at)
  const isThere = (adapter: WantedAdapter): boolean =>
    findAdapter(adapter, {
      env: at.env,
      home: at.home,
      dataDir: dirname(adapter.directory),
      path: '',
    }) !== null
  if (said === null && adapters.every(isThere)) return null
  return `${said ?? 'npm has installed something else'}; try it yourself: ${renderInstall(adapters)}`
}

/** What npm said where it failed, or null. */
const runNpm = (npm: string, args: readonly string[], at: Surroundings): Promise<string | null> =>
  new Promise((resolve) => {
    const env = at.env as NodeJS.ProcessEnv
    execFile(npm, [...args], { timeout: installMsMax, env, cwd: at.home }, (error, _out, err) =>
      resolve(error === null ? null : (readFault(err) ?? error.message)),
    )
  })

/** Codes come before the words, and the place of a log behind them. */
const readFault = (said: string): string | null =>
  said
    .split('\n')
    .map((line) => line.trim())
    .find((line) => /^npm (?:error|ERR!) (?!code |errno |syscall |A complete log)\S/.test(line)) ?? null

/** What went wrong, or null. The directory goes with the last of them: nothing else is put there. */
export async function removeAdapter(
  { package: name, directory }: { package: string; directory: string },
  at: Surroundings,
): Promise<string | null> {
  const others = listInstalled(directory).filter((other) => other !== name)
  if (others.length === 0) {
    rmSync(directory, { recursive: true, force: true })
    return null
  }
  const npm = findExecutable('npm', at.env['PATH'] ?? '')
  if (npm === null) return `${name}: npm was not found on your PATH; remove ${directory} yourself`
  const problem = await runNpm(npm, ['uninstall', '--prefix', directory, '--loglevel=error', name], at)
  return problem === null ? null : `${name}: ${problem}`
}

function listInstalled(directory: string): string[] {
  const file = join(directory, 'package.json')
  if (!existsSync(file)) return []
  const { dependencies = {} } = JSON.parse(readFileSync(file, 'utf8')) as {
    dependencies?: Record<string, string>
  }
  return Object.keys(dependencies)
}
