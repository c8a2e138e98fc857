/**
 * The adapters that make Claude Code and Codex speak ACP: packages of the npm registry, installed by npm into the
 * data directory, without the program of the vendor that they would bring along. The user's own is used.
 */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Adapter } from '../../adapters/acp/presets.ts'
import { adapterDirectory, findAdapter, findExecutable } from '../../adapters/acp/program.ts'
import type { FoundAgent } from './up-plan.ts'
import type { Surroundings } from './init-entries.ts'

const installMsMax = 300_000

export type WantedAdapter = Adapter & { directory: string }

/** Those of found programs that are neither in the data directory nor on the PATH. */
export const listAdapters = (
  found: readonly FoundAgent[],
  at: Surroundings,
  dataDir: string,
): WantedAdapter[] =>
  found.flatMap(({ preset: { adapter } }) => {
    const own = { env: at.env, home: at.home, dataDir, path: at.env['PATH'] ?? '' }
    return adapter === null || findAdapter(adapter, own) !== null
      ? []
      : [{ ...adapter, directory: adapterDirectory(dataDir) }]
  })

const npmArgs = ({ directory, package: name, version }: WantedAdapter): string[] => [
  'install',
  '--prefix',
  directory,
  '--omit=optional',
  '--no-fund',
  '--no-audit',
  '--loglevel=error',
  `${name}@${version}`,
]

/** As a person would type it. */
export const renderInstall = (adapter: WantedAdapter): string => `npm ${npmArgs(adapter).join(' ')}`

/** What went wrong, or null. */
export async function installAdapter(adapter: WantedAdapter, at: Surroundings): Promise<string | null> {
  const npm = findExecutable('npm', at.env['PATH'] ?? '')
  if (npm === null) return `npm was not found on your PATH; run: ${renderInstall(adapter)}`
  mkdirSync(adapter.directory, { recursive: true, mode: 0o700 })
  const said = await runNpm(npm, npmArgs(adapter), at)
  const own = { env: at.env, home: at.home, dataDir: join(adapter.directory, '..'), path: '' }
  if (said === null && findAdapter(adapter, own) !== null) return null
  return `${said ?? 'npm has installed something else'}; try it yourself: ${renderInstall(adapter)}`
}

/** What npm said where it failed, or null. */
const runNpm = (npm: string, args: readonly string[], at: Surroundings): Promise<string | null> =>
  new Promise((resolve) => {
    const env = at.env as NodeJS.ProcessEnv
    execFile(npm, [...args], { timeout: installMsMax, env, cwd: at.home }, (error, _out, err) =>
      resolve(error === null ? null : (err.trim().split('\n').at(-1) ?? '') || error.message),
    )
  })

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
