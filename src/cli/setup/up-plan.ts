/** What `tieline up` finds on this machine, and what it would write for it. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse as parseToml } from 'smol-toml'
import { presets, type Preset } from '../../adapters/acp/presets.ts'
import { findExecutable, hasLogin, type Unavailable } from '../../adapters/acp/program.ts'
import { Agent, drivenDriver, type PresetName } from '../../model/agent.ts'
import { configNames, userDirectory } from '../../trust/config-text.ts'
import { mcpClients, type Surroundings, type Way } from './init-entries.ts'
import { planEntries, type Planned } from './init-plan.ts'
import { findOpenCodeEntries, opencodePlugin } from './opencode-plugin.ts'
import { clientHooks, planHooks, wakes, type HookPlace } from './up-hooks.ts'

export type FoundAgent = {
  preset: Preset
  program: string
  version: string | null
  /** What is seen of its login; false proves nothing where it is kept elsewhere. */
  loggedIn: boolean
}

/** All of them start at once, some of them slowly. */
const versionMsMax = 30_000

/** The agents whose programs are on the PATH, each asked for its version. */
export async function findAgents(at: Surroundings, only: readonly string[] | null): Promise<FoundAgent[]> {
  const wanted = Object.values(presets).filter(({ name }) => only === null || only.includes(name))
  const found = await Promise.all(
    wanted.map(async (preset): Promise<FoundAgent | null> => {
      const program = findExecutable(preset.program, at.env['PATH'] ?? '')
      if (program === null) return null
      const around = { env: at.env, home: at.home, dataDir: null }
      const version = await askVersion(program, preset, at)
      return { preset, program, version, loggedIn: hasLogin(preset.login, around) }
    }),
  )
  return found.filter((one) => one !== null)
}

const askVersion = (program: string, { versionArgs }: Preset, at: Surroundings): Promise<string | null> =>
  new Promise((resolve) => {
    const env = at.env as NodeJS.ProcessEnv
    execFile(program, [...versionArgs], { timeout: versionMsMax, env }, (error, out) =>
      resolve(error === null ? (/\d{1,6}\.\d{1,6}(?:\.\d{1,6})?/.exec(out)?.[0] ?? null) : null),
    )
  })

export async function planUp(
  found: readonly FoundAgent[],
  at: Surroundings,
  way: Way,
  place: HookPlace,
): Promise<Planned[]> {
  const has = (name: string): boolean => found.some(({ preset }) => preset.name === name)
  // The plugin makes its sessions reachable too. Where the MCP entry is there already, that one stays.
  const { mcp } = await findOpenCodeEntries(at)
  const clients = mcpClients
    .filter(({ id }) => has(id))
    .map((client) => (client.id === 'opencode' && mcp.length === 0 ? opencodePlugin : client))
  return [
    ...(await planEntries(clients, at, 'user', way)),
    ...clientHooks.filter(({ client }) => has(client)).flatMap((hooks) => planHooks(hooks, at, place)),
    planAgents(found, at),
  ]
}

/** The agents, in the user's own file; those that it has already stay as they are. */
function planAgents(found: readonly FoundAgent[], at: Surroundings): Planned {
  const directory = userDirectory(at.env, at.home)
  const name = configNames.find((one) => existsSync(join(directory, one))) ?? configNames[0]
  const file = join(directory, name)
  const before = existsSync(file) ? readFileSync(file, 'utf8') : null
  const plain = { what: 'Agents', of: null, file, before, parts: [], note: null }
  if (file.endsWith('.json')) {
    const why = 'is JSON, which is left alone: add the agents yourself'
    return { ...plain, after: before ?? '', snippet: renderAgents(found), state: 'unclear', why }
  }
  try {
    const { agents = {} } = parseToml(before ?? '') as { agents?: Record<string, unknown> }
    const missing = found.filter(({ preset }) => agents[preset.name] === undefined)
    const snippet = renderAgents(missing)
    if (missing.length === 0)
      return { ...plain, after: before ?? '', snippet, state: 'there', why: 'has these agents already' }
    let after = before ?? ''
    const steps = missing.map((one) => {
      const { name } = one.preset
      after += `${after === '' ? '' : after.endsWith('\n') ? '\n' : '\n\n'}${renderAgents([one])}`
      return { of: name, after, parts: [{ path: ['agents', name], value: name, isItem: false }] }
    })
    parseToml(after)
    const why = before === null ? 'new file' : 'agents are added'
    return { ...plain, after, steps, snippet, state: 'write', why }
  } catch (error) {
    const why = `is left alone: ${String(error).split('\n')[0] ?? ''}`
    return { ...plain, after: before ?? '', snippet: renderAgents(found), state: 'unclear', why }
  }
}

const renderAgents = (found: readonly FoundAgent[]): string =>
  found
    .map(({ preset: { name, description } }) =>
      [
        `[agents.${name}]`,
        `description = ${JSON.stringify(description)}`,
        `driver = "${drivenDriver}"`,
        `preset = "${name}"`,
        'allowSubAgentCalls = true',
        '',
      ].join('\n'),
    )
    .join('\n')

export const describeAgent = ({ preset: { name } }: FoundAgent): Agent =>
  Agent.parse({ name, driver: drivenDriver, preset: name })

/** One line for an agent: what it can do now, and what is missing. `missing` is what its start has shown. */
export function describeFound(found: FoundAgent, missing: Unavailable | null): string {
  const { preset, version, loggedIn } = found
  return [
    `${preset.name} ${version ?? '(its version could not be read)'}`,
    'can call',
    missing === null ? 'can be called' : `cannot be called: ${missing.why}; ${missing.cure}`,
    wakes[preset.name],
    loggedIn ? 'logged in' : preset.login.elsewhere ? 'login not visible from here' : 'not logged in',
    preset.name === 'gemini' ? 'costs what your key is billed' : 'costs what your plan says',
    ...(preset.quirks.usage === 'none' ? ['its tokens are estimated'] : []),
  ].join(' · ')
}

export const presetNames = Object.keys(presets) as PresetName[]
