/**
 * One conversation with one agent process: `initialize`, a session that is new or loaded, and one prompt at a
 * time. Never a second prompt while one runs: agents do four different things with it.
 */
import { client, methods, type ClientConnection } from '@agentclientprotocol/sdk'
import { isRecord } from '../../model/json.ts'
import type { Clock } from '../../runtime/kernel/ports.ts'
import type { AgentProcess } from './agent-process.ts'
import { isOlder } from './is-older.ts'
import type { Preset, Quirks } from './presets.ts'
import { AgentUnavailable, faultText, ProcessEnded, readUnavailable } from './unavailable.ts'

/** A first start may have to unpack itself. */
const startMsMax = 120_000
const protocolVersion = 1
/** After `session/load`, for agents that go on replaying: until they have been quiet for this long. */
const quietMs = 300
const quietMsMax = 10_000

export type OpenOptions = {
  process: AgentProcess
  cwd: string
  /** Ours; null where no server serves this line. */
  mcp: { url: string; token: string } | null
  /** Of an earlier process, to be loaded. */
  resume: string | null
  mode: string | undefined
  preset: Preset | null
  quirks: Quirks
  clock: Clock
  version: string
  signal: AbortSignal
}

/** What hears of a prompt while it runs. */
export type Listener = {
  update(update: unknown): void
  permission(request: Record<string, unknown>): Promise<string | null>
}

export type Conversation = {
  id: string
  /** Whether the agent has the earlier turns of this session. */
  loaded: boolean
  canLoad: boolean
  canSteer: boolean
  /** Its own, where it says so. */
  version: string | null
  /** Rejects where the agent says no, or its process ends. */
  prompt(text: string, listener: Listener): Promise<Record<string, unknown>>
  /** True where the running prompt has it. */
  steer(text: string): Promise<boolean>
  cancel(): void
  /** Settles when the process has ended, with how. */
  ended: Promise<string>
  close(): Promise<void>
}

/** Rejects with AgentUnavailable, or with what went wrong. The process is ended then. */
export async function openConversation(options: OpenOptions): Promise<Conversation> {
  try {
    return await open(options)
  } catch (fault) {
    await options.process.stop()
    throw explainStart(fault, options)
  }
}

export type Greeted = Pick<OpenOptions, 'process' | 'preset' | 'clock' | 'version' | 'signal'>

/** Asks it who it is, and ends it. Rejects like `openConversation`. */
export async function greet(options: Greeted, msMax: number): Promise<void> {
  const connection = client({ name: 'tieline' }).connect(options.process.messages)
  try {
    await initialize(asker(connection, options), options, msMax)
  } catch (fault) {
    throw explainStart(fault, options)
  } finally {
    await options.process.stop()
    connection.close()
  }
}

function explainStart(fault: unknown, { process, preset, signal }: Greeted): unknown {
  if (fault instanceof AgentUnavailable || signal.aborted) return fault
  const said = process.said()
  const known = readUnavailable(fault, preset) ?? readUnavailable(new Error(said), preset)
  if (known !== null) return new AgentUnavailable(known)
  const why = `${faultText(fault)}${said === '' ? '' : `; it said: ${said.slice(-500)}`}`
  return new AgentUnavailable({ why: `it could not be started (${why})`, cure: 'start it by hand and look' })
}

async function initialize(ask: Ask, options: Greeted, msMax = startMsMax): Promise<Record<string, unknown>> {
  const given = {
    protocolVersion,
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    clientInfo: { name: 'tieline', version: options.version },
  }
  const initialized = await ask('initialize', given, msMax)
  refuseVersion(initialized, options)
  return initialized
}

async function open(options: OpenOptions): Promise<Conversation> {
  const { process, clock, quirks } = options
  let listener: Listener | null = null
  let heardAt = clock.elapsed()
  const connection = client({ name: 'tieline' })
    .onRequest(
      methods.client.session.requestPermission,
      (params: unknown) => params as Record<string, unknown>,
      async ({ params }) => {
        const option = listener === null ? null : await listener.permission(params)
        return {
          outcome: option === null ? { outcome: 'cancelled' } : { outcome: 'selected', optionId: option },
        }
      },
    )
    .onNotification(
      methods.client.session.update,
      (params: unknown) => params,
      ({ params }) => {
        heardAt = clock.elapsed()
        if (isRecord(params)) listener?.update(params['update'])
      },
    )
    .connect(process.messages)
  const ask = asker(connection, options)
  const initialized = await initialize(ask, options)
  const canLoad = readAt(initialized, 'agentCapabilities', 'loadSession') === true
  const session = await openSession(ask, options, canLoad)
  // Quiet counts from here: what took long was the start.
  heardAt = clock.elapsed()
  if (session.loaded && quirks.replaysAfterLoad) await untilQuiet(options, () => heardAt)
  await setMode(ask, options, session)
  const { id, loaded } = session
  return {
    id,
    loaded,
    canLoad,
    canSteer: hasSteering(initialized),
    version: readVersion(initialized),
    ended: process.exited,
    async prompt(text, own) {
      // What comes before belongs to what was loaded.
      listener = own
      try {
        return await ask('session/prompt', { sessionId: id, prompt: [{ type: 'text', text }] }, null)
      } finally {
        listener = null
      }
    },
    async steer(text) {
      const answer = await ask(
        '_session/steering',
        { sessionId: id, prompt: [{ type: 'text', text }] },
        steerMs,
      )
      return answer['outcome'] === 'injected'
    },
    cancel: () => void connection.agent.notify('session/cancel', { sessionId: id }).catch(ignore),
    async close() {
      await process.stop()
      connection.close()
    },
  }
}

async function untilQuiet({ clock, signal }: OpenOptions, heardAt: () => number): Promise<void> {
  for (let waited = 0; waited < quietMsMax; waited += quietMs / 3) {
    if (clock.elapsed() - heardAt() >= quietMs) return
    await clock.sleep(quietMs / 3, signal)
  }
}

const steerMs = 5000
const closedMs = 1000
/** A process that is gone hears nothing, and is noticed elsewhere. */
const ignore = (): void => undefined

type Ask = (method: string, params: object, msMax?: number | null) => Promise<Record<string, unknown>>

/** Answers in time, or breaks: with the agent's own words, with its process, or with the signal. */
function asker(connection: ClientConnection, { process, clock, signal }: Greeted): Ask {
  return async (method, params, msMax = startMsMax) => {
    const over = new AbortController()
    const watch = AbortSignal.any([over.signal, ...(msMax === null ? [] : [signal])])
    const ended = process.exited.then((how) => Promise.reject(new ProcessEnded(how, describeEnd(process))))
    try {
      return await Promise.race([
        connection.agent.request<Record<string, unknown>>(method, params).catch(async (fault: unknown) => {
          // Its pipes may close a moment before its process has ended.
          if (connection.signal.aborted) await Promise.race([ended, clock.sleep(closedMs, over.signal)])
          throw fault
        }),
        ended,
        ...(msMax === null
          ? []
          : [
              clock
                .sleep(msMax, watch)
                .then(() => Promise.reject(new Error(`${method} got no answer in ${msMax} ms`))),
            ]),
      ])
    } finally {
      over.abort()
    }
  }
}

const describeEnd = ({ said, messages }: AgentProcess): string =>
  (said() || messages.garbage().trim()).slice(-500)

function readAt(value: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>((at, name) => (isRecord(at) ? at[name] : undefined), value)
}

const hasSteering = (initialized: unknown): boolean =>
  [
    ['_meta', 'steering', 'supported'],
    ['agentCapabilities', '_meta', 'steering', 'supported'],
    ['agentCapabilities', 'sessionCapabilities', '_meta', 'steering', 'supported'],
  ].some((path) => readAt(initialized, ...path) === true)

function refuseVersion(initialized: Record<string, unknown>, { preset }: Greeted): void {
  const spoken = initialized['protocolVersion']
  if (spoken !== protocolVersion)
    throw new AgentUnavailable({
      why: `it speaks version ${String(spoken)} of the protocol, and ${protocolVersion} is needed`,
      cure: `update it${preset === null ? '' : `: ${preset.install}`}`,
    })
  const has = readVersion(initialized)
  const least = preset?.adapter == null ? (preset?.versionMin ?? null) : null
  if (least === null || has === null || !isOlder(has, least)) return
  throw new AgentUnavailable({
    why: `it has version ${has}, and at least ${least} is needed`,
    cure: `update it: ${preset?.install ?? ''}`,
  })
}

function readVersion(initialized: unknown): string | null {
  const version = readAt(initialized, 'agentInfo', 'version')
  return typeof version === 'string' ? version : null
}

type Session = { id: string; loaded: boolean; modes: unknown }

async function openSession(ask: Ask, options: OpenOptions, canLoad: boolean): Promise<Session> {
  const { cwd, mcp, resume, quirks } = options
  const given = {
    ...(quirks.meta === undefined ? {} : { _meta: quirks.meta }),
    cwd,
    mcpServers:
      mcp === null
        ? []
        : [
            {
              type: 'http',
              name: 'tieline',
              url: mcp.url,
              headers: [{ name: 'x-tieline-session-token', value: mcp.token }],
            },
          ],
  }
  if (resume !== null && canLoad) {
    const loaded = await ask('session/load', { sessionId: resume, ...given }).catch((fault: unknown) => {
      if (fault instanceof ProcessEnded || options.signal.aborted) throw fault
      // It has forgotten that one: it starts anew, and is told what was said.
      return null
    })
    if (loaded !== null) return { id: resume, loaded: true, modes: readAt(loaded, 'modes') }
  }
  const made = await ask('session/new', given)
  const id = made['sessionId']
  if (typeof id !== 'string') throw new Error('session/new was answered without a session id')
  return { id, loaded: false, modes: made['modes'] }
}

/** A mode that it does not have is left out: its permissions are asked for and ruled on all the same. */
async function setMode(ask: Ask, { mode }: OpenOptions, session: Session): Promise<void> {
  const available = readAt(session.modes, 'availableModes')
  const isThere = (Array.isArray(available) ? available : []).some(
    (one: unknown) => readAt(one, 'id') === mode,
  )
  if (mode === undefined || !isThere || readAt(session.modes, 'currentModeId') === mode) return
  await ask('session/set_mode', { sessionId: session.id, modeId: mode })
}
