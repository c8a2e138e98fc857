/**
 * The server of this machine: the one that owns the data directory, or one that is started in the background
 * and outlives opencode. Several may start at the same moment. The directory has one owner; the others find
 * that owner's address a moment later.
 */
import { spawn, type ChildProcess, execFile } from 'node:child_process'
import { mkdir, open } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, resolve, delimiter } from 'node:path'
import { existsSync } from 'node:fs'
import { tielineClient } from '../../client/client.ts'
import type { Surroundings } from '../../client/surroundings.ts'
import { ownProgram, packageDir } from '../../own-files.ts'
import { readKept } from '../../trust/kept-file.ts'
import { findForeignOwner } from '../../trust/private-files.ts'

export type FoundServer = { url: string; token: string | null }

export type ServerPlace = {
  /** Where opencode works. A configuration that lies there counts for nothing. */
  cwd: string
  env: Readonly<Record<string, string | undefined>>
  /** One that is named is not started. */
  server?: string | undefined
  dataDir?: string | undefined
  surroundings: Surroundings
}

const lookAgainMs = 100
const startMsMax = 20_000

/** Null where none answers; `start` brings one up. Throws with what is missing. */
export async function findServer(place: ServerPlace, start: boolean): Promise<FoundServer | null> {
  const named = place.server ?? unlessEmpty(place.env['TIELINE_SERVER'])
  if (named !== undefined) return namedServer(named, place)
  const dataDir = await findDataDir(place)
  return (await runningIn(dataDir, place)) ?? (start ? startedIn(dataDir, place) : null)
}

async function namedServer(url: string, { env, surroundings }: ServerPlace): Promise<FoundServer> {
  await tielineClient({ url, surroundings }).health()
  return { url, token: unlessEmpty(env['TIELINE_TOKEN']) ?? null }
}

/** As the user's own configuration says; its other keys are the server's to read. */
export async function findDataDir({
  cwd,
  env,
  dataDir,
}: Pick<ServerPlace, 'cwd' | 'env' | 'dataDir'>): Promise<string> {
  const home = unlessEmpty(env['HOME']) ?? homedir()
  const named = dataDir ?? unlessEmpty(env['TIELINE_DATA_DIR'])
  if (named !== undefined) return absolute(named, cwd, home)
  const files =
    unlessEmpty(env['TIELINE_CONFIG']) === undefined
      ? ['tieline.toml', 'tieline.json'].map((name) =>
          join(unlessEmpty(env['XDG_CONFIG_HOME']) ?? join(home, '.config'), 'tieline', name),
        )
      : [absolute(env['TIELINE_CONFIG'] ?? '', cwd, home)]
  for (const file of files) {
    const text = await readKept(file, fileBytesMax).then(String, () => null)
    if (text === null) continue
    const configured = file.endsWith('.json') ? inJson(text) : inToml(text)
    if (configured !== null) return absolute(configured, dirname(file), home)
    break
  }
  return join(home, '.local', 'share', 'tieline')
}

const fileBytesMax = 1_048_576

function inJson(text: string): string | null {
  const said = /"server"\s*:\s*\{[^{}]*"dataDir"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(text)?.[1]
  return said === undefined ? null : (JSON.parse(said) as string)
}

function inToml(text: string): string | null {
  const lines = text.split('\n').map((line) => line.trim())
  const start = lines.indexOf('[server]')
  if (start === -1) return null
  for (const line of lines.slice(start + 1)) {
    if (line.startsWith('[')) return null
    const said = /^dataDir[ \t]*=[ \t]*(?:"([^"\\]*)"|'([^']*)')/.exec(line)
    if (said !== null) return said[1] ?? said[2] ?? null
  }
  return null
}

async function runningIn(dataDir: string, { surroundings }: ServerPlace): Promise<FoundServer | null> {
  const file = await readKept(join(dataDir, 'server.json'), fileBytesMax).then(String, () => null)
  // In a directory of somebody else it could name any server.
  if (file === null || findForeignOwner(dataDir) !== null) return null
  try {
    const { url } = JSON.parse(file) as { url: string }
    // A file that a dead server left behind is not believed.
    await tielineClient({ url, surroundings }).health()
    const token = await readKept(join(dataDir, 'token'), fileBytesMax).then(String, () => '')
    return { url, token: unlessEmpty(token.trim()) ?? null }
  } catch {
    return null
  }
}

async function startedIn(dataDir: string, place: ServerPlace): Promise<FoundServer> {
  const node = await findNode(packageDir, place.env)
  const log = join(dataDir, 'serve.log')
  let child = await begin(node, dataDir, log, [], place)
  let isOtherPort = false
  for (let waitedMs = 0; waitedMs < startMsMax; waitedMs += lookAgainMs) {
    const found = await runningIn(dataDir, place)
    if (found !== null) return found
    // Most likely the usual port is taken. A server that lost the race for the directory has ended too, and
    // then the winner is found.
    if (child.exitCode !== null && !isOtherPort) {
      isOtherPort = true
      child = await begin(node, dataDir, log, ['--port', '0'], place)
    }
    await place.surroundings.sleep(lookAgainMs)
  }
  throw new Error(`the server did not start: see ${log}`)
}

/** In a group of its own: it goes on when opencode ends, and ends when it is not used for long. */
async function begin(
  node: string,
  dataDir: string,
  log: string,
  flags: readonly string[],
  { cwd, env }: ServerPlace,
): Promise<ChildProcess> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const file = await open(log, 'a', 0o600)
  const child = spawn(
    node,
    [ownProgram, 'serve', '--background', '--quiet', '--data-dir', dataDir, ...flags],
    {
      detached: true,
      stdio: ['ignore', file.fd, file.fd],
      cwd,
      env: { ...env, TIELINE_STARTED_BY: 'opencode' },
    },
  )
  child.on('error', () => undefined)
  child.unref()
  await file.close()
  return child
}

function absolute(path: string, base: string, home: string): string {
  const expanded = path === '~' ? home : path.startsWith('~/') ? join(home, path.slice(2)) : path
  return isAbsolute(expanded) ? expanded : resolve(base, expanded)
}

const unlessEmpty = (value: string | undefined): string | undefined =>
  value === undefined || value === '' ? undefined : value

/**
 * A Node that can run the server. opencode itself is another kind of program, and the machine's own Node may
 * be too old.
 */
const needed = [24, 15] as const
const askMsMax = 5000

/** Throws with what was found and what to do. */
export async function findNode(
  packageDir: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const name = process.platform === 'win32' ? 'node.exe' : 'node'
  // The npm package `node` is such a program, beside this one or below it.
  const packaged = [
    join(packageDir, 'node_modules', 'node', 'bin', name),
    join(packageDir, '..', 'node', 'bin', name),
  ]
  const inPath = (env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
  const tooOld: string[] = []
  for (const program of new Set([...packaged, ...inPath])) {
    const version = existsSync(program) ? await readVersion(program) : null
    if (version !== null && isEnough(version)) return program
    if (version !== null) tooOld.push(`${program} is ${version}`)
  }
  const found = tooOld.length === 0 ? 'there is no node in PATH' : tooOld.join(', ')
  throw new Error(
    `Node ${needed.join('.')} or newer is needed to start the server, and ${found}. ` +
      'Install it, or "npm install node@24" beside tieline, or start "tieline serve" yourself.',
  )
}

const readVersion = (program: string): Promise<string | null> =>
  new Promise((resolve) => {
    execFile(program, ['--version'], { timeout: askMsMax }, (error, out) =>
      resolve(error === null ? out.trim() : null),
    )
  })

export function isEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  return major > needed[0] || (major === needed[0] && minor >= needed[1])
}
