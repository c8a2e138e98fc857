/** How an agent is started here: its command and environment, or why it cannot be. */
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import type { Agent } from '../../model/agent.ts'
import { presets, plainQuirks, type Adapter, type Login, type Preset, type Quirks } from './presets.ts'

export type Surroundings = {
  env: Readonly<Record<string, string | undefined>>
  home: string
  /** Where `tieline up` puts adapters; null is nowhere. */
  dataDir: string | null
}

export type Program = {
  program: string
  args: readonly string[]
  env: Record<string, string>
  /** Below home, as real paths: a sandbox lets it see and change these. */
  places: readonly string[]
  /** What it is made of, which a sandbox must show it. */
  files: readonly string[]
  quirks: Quirks
}

/** `cure` is for a person. `overLimit`: it works again when its limit is reset. */
export type Unavailable = { why: string; cure: string; overLimit?: true }

/** Where the adapters are that `tieline up` fetches. */
export const adapterDirectory = (dataDir: string): string => join(dataDir, 'adapters')

export const findPreset = ({ preset }: Agent): Preset | null =>
  preset === undefined ? null : presets[preset]

export const quirksOf = (agent: Agent): Quirks => findPreset(agent)?.quirks ?? plainQuirks

export function findProgram(agent: Agent, around: Surroundings): Program | Unavailable {
  const preset = findPreset(agent)
  const own = { ...around, path: around.env['PATH'] ?? '' }
  const command = agent.command ?? (preset === null ? null : findCommand(preset, own))
  if (command === null) return { why: 'it has neither a preset nor a command', cure: 'configure one of them' }
  if ('why' in command) return command
  const [name = '', ...args] = command
  const program = findExecutable(name, own.path)
  if (program === null)
    return {
      why: `the program ${name} is not installed`,
      cure: preset === null ? `install ${name}, or correct the command` : preset.install,
    }
  return {
    program,
    args,
    env: buildEnvironment(agent, preset, own),
    places: (preset?.places ?? []).map((place) => join(around.home, place)),
    files: around.dataDir === null ? [] : [adapterDirectory(around.dataDir)].filter(existsSync),
    quirks: quirksOf(agent),
  }
}

type Own = Surroundings & { path: string }

function findCommand(preset: Preset, own: Own): string[] | Unavailable {
  const program = findExecutable(preset.program, own.path)
  if (preset.adapter === null)
    return program === null
      ? { why: `${preset.title} is not installed`, cure: preset.install }
      : [program, ...preset.args]
  const adapter = findAdapter(preset.adapter, own)
  // The adapter brings a program of its own, but that one has another version than the user's.
  if (program === null) return { why: `${preset.title} is not installed`, cure: preset.install }
  return adapter === null
    ? {
        why: `the adapter ${preset.adapter.package} is not installed`,
        cure: `run "tieline up", or npm install -g ${preset.adapter.package}@${preset.adapter.version}`,
      }
    : [adapter, ...preset.args]
}

export function findAdapter({ bin }: Adapter, { dataDir, path }: Own): string | null {
  const ours =
    dataDir === null ? null : findExecutable(join(adapterDirectory(dataDir), 'node_modules', '.bin', bin), '')
  return ours ?? findExecutable(bin, path)
}

export function findExecutable(name: string, path: string): string | null {
  const candidates =
    isAbsolute(name) || name.includes('/') ? [name] : path.split(delimiter).map((place) => join(place, name))
  return candidates.find(isExecutable) ?? null
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    // It is not there, or not for us.
    return false
  }
}

/** Keys make an agent bill an account instead of the plan that its user pays for. */
const keyNames = /(?:_API_KEY|_AUTH_TOKEN|_ACCESS_KEY|_SECRET|_SECRET_KEY|_PASSWORD)$/

function buildEnvironment(
  { billing = 'plan' }: Agent,
  preset: Preset | null,
  own: Own,
): Record<string, string> {
  const kept = (name: string): boolean => {
    if (name.startsWith('TIELINE_') || preset?.unset.includes(name) === true) return false
    const isKey = keyNames.test(name) || preset?.keyVariables.includes(name) === true
    // With a preset only its own keys are passed on, never those of the other providers of the server.
    return !isKey || (billing === 'key' && (preset === null || isKeyOf(preset, name)))
  }
  const inherited = Object.entries(own.env).filter(
    (pair): pair is [string, string] => pair[1] !== undefined && kept(pair[0]),
  )
  const program = preset?.adapter == null ? null : findExecutable(preset.program, own.path)
  return {
    ...Object.fromEntries(inherited),
    ...preset?.env,
    ...(program === null || preset?.adapter == null ? {} : { [preset.adapter.programVariable]: program }),
  }
}

const anyProvider = new Set(['opencode'])
const isKeyOf = ({ name, keyVariables }: Preset, variable: string): boolean =>
  anyProvider.has(name) || keyVariables.length === 0 || keyVariables.includes(variable)

/** Null where it is logged in, or where that cannot be seen from here. */
export function findLoginProblem(agent: Agent, around: Surroundings): Unavailable | null {
  const preset = findPreset(agent)
  if (preset === null || agent.command !== undefined || preset.login.elsewhere) return null
  if (agent.billing === 'key' && preset.keyVariables.some((name) => around.env[name])) return null
  return hasLogin(preset.login, around)
    ? null
    : { why: `${preset.title} is not logged in`, cure: preset.login.cure }
}

export function hasLogin({ files, homeVariable }: Login, { env, home }: Surroundings): boolean {
  const moved = homeVariable === null ? undefined : env[homeVariable.name]
  const base = moved ?? (homeVariable === null ? home : join(home, homeVariable.directory))
  return files.some((one) => {
    const file = join(base, typeof one === 'string' ? one : one.file)
    return existsSync(file) && (typeof one === 'string' || readFileSync(file, 'utf8').includes(one.holds))
  })
}

export const whyUnavailable = (agent: Agent, around: Surroundings): Unavailable | null => {
  const program = findProgram(agent, around)
  return 'why' in program ? program : findLoginProblem(agent, around)
}
