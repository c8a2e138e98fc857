/**
 * Drives agents that keep their own loop, over ACP.
 *
 * D1. One process group for each session, one prompt at a time. It is closed after ten idle minutes and opened
 * again with what the agent itself kept.
 * D2. Every run has one outcome. An empty answer is a failure; a process that dies is loaded again once, else the
 * turn is lost.
 * D3. A turn that was told to stop stops in time: the agent is asked, then its process group is ended. What it
 * answers to a cancel does not matter, since some agents answer as if they had finished.
 * D4. A turn that an earlier process began is not asked twice: the agent hears that it was interrupted.
 */
import { isDriven, type Agent } from '../../model/agent.ts'
import type { Usage } from '../../model/event.ts'
import type { SessionId, TurnId } from '../../model/id.ts'
import type { Json } from '../../model/json.ts'
import { explain, isRefusal } from '../../model/refusal.ts'
import type { CountTokens } from '../../model/text.ts'
import { RunnerLost } from '../../runtime/kernel/faults.ts'
import type { Launcher } from '../../runtime/kernel/launch-port.ts'
import type { LimitBook, ReportedLimit, ReportedWindow } from '../../runtime/kernel/driven-port.ts'
import type { Alarm } from '../../runtime/kernel/alarm.ts'
import type { Clock, Driver, Steps, TurnInput, TurnOutcome } from '../../runtime/kernel/ports.ts'
import { startProcess } from './agent-process.ts'
import type { Conversation } from './conversation.ts'
import { agentPool, type OpenAgent } from './pool.ts'
import {
  findPreset,
  findProgram,
  quirksOf,
  whyUnavailable,
  type Surroundings,
  type Unavailable,
} from './program.ts'
import { runPrompt, type Spoken } from './prompt.ts'
import { limitKey } from './plan-windows.ts'
import { readResetMs } from './reset-time.ts'
import { renderFirst, renderInterrupted } from './render.ts'
import { AgentUnavailable, ProcessEnded } from './unavailable.ts'

export type DriverDeps = {
  around: Surroundings
  launcher: Launcher
  /** Where a server serves this line; null while none does. */
  door: () => { url: string; mint(turn: TurnId): string } | null
  clock: Clock
  alarm: Alarm
  count: CountTokens
  version: string
  /** Titles of our own tools, which some agents show in place of their names. */
  titles: ReadonlyMap<string, string>
  /** The agent's own session that this session had last, and in which turn. */
  lastSession: (session: SessionId, agent: string) => Promise<{ id: string; turn: TurnId } | null>
  /** A process that was started in one turn works in another now: its token means that one. */
  continues: Map<TurnId, TurnId>
  /** Where limits that agents report are kept, by the agent's name. */
  limits?: LimitBook
  report: (fault: unknown) => void
}

export type DrivenAgents = {
  driver: Driver
  /** Why it cannot be called now; null where nothing is known against it. */
  whyUnavailable(agent: Agent): { why: string; cure: string } | null
  /** Why a ceiling of tools cannot be kept for it; null where it can. */
  whyUnrestricted(agent: Agent): { why: string; cure: string } | null
  /** What it said last about its limit, until that is reset. */
  limitOf(agent: Agent): ReportedLimit | null
  /** What it has said is used of its plan. */
  windowsOf(agent: Agent): readonly ReportedWindow[]
  /** How many processes are open. */
  size(): number
  close(): Promise<void>
}

/** How long what an agent said of itself (its login, its limit) is believed. */
const believedMs = 60_000
export const sessionStep = 'acp_session'

export function driveAgents(deps: DriverDeps): DrivenAgents {
  const pool = agentPool(deps.alarm, deps.clock, deps.report)
  const told = new Map<string, { why: string; cure: string; at: number }>()
  const hear = (name: string, { why, cure, overLimit }: Unavailable): void => {
    const { clock, limits } = deps
    told.set(name, { why, cure, at: clock.elapsed() })
    if (overLimit === true) limits?.note(limitKey(name), why, readResetMs(why, clock.now()) ?? believedMs)
  }
  const driver: Driver = {
    async run(turn, steps, signal): Promise<TurnOutcome> {
      const spoken = await steps.step<Spoken>(
        'model',
        turn.agent.name,
        { prompt: turn.prompt, attempt: turn.attempt },
        async (stepSignal) => {
          try {
            const done = await speak(deps, pool, turn, steps, stepSignal)
            told.delete(turn.agent.name)
            deps.limits?.forget(limitKey(turn.agent.name))
            return done
          } catch (fault) {
            if (!(fault instanceof AgentUnavailable)) throw fault
            hear(turn.agent.name, fault.unavailable)
            return { value: { text: '', error: fault.message, cost: null }, usage: null }
          }
        },
      )
      signal.throwIfAborted()
      const { text: output, error } = spoken
      if (error === null) return { outcome: 'completed', output, error, iterations: 1 }
      const outcome = error.startsWith('budget_exhausted') ? 'budget_exhausted' : 'failed'
      const isAway = error.startsWith(AgentUnavailable.code)
      return { outcome, output, error, iterations: 1, ...(isAway && { unavailable: error }) }
    },
  }
  return {
    driver,
    whyUnavailable(agent) {
      if (!isDriven(agent)) return null
      const last = told.get(agent.name)
      if (last !== undefined && deps.clock.elapsed() - last.at < believedMs)
        return { why: last.why, cure: last.cure }
      return whyUnavailable(agent, deps.around)
    },
    limitOf: ({ name }) => deps.limits?.find(limitKey(name)) ?? null,
    windowsOf: ({ name }) => deps.limits?.windows(limitKey(name)) ?? [],
    whyUnrestricted(agent) {
      if (!isDriven(agent) || (quirksOf(agent).asks === 'all' && agent.permissions !== 'allow')) return null
      return {
        why: 'it does not ask before it uses a tool of its own',
        cure:
          'call it without allowed_tools (allow_nested_calls holds for every agent), ' +
          'or call an agent that asks for each tool, such as claude or gemini',
      }
    },
    size: () => pool.size(),
    close: () => pool.close(),
  }
}

type Pool = ReturnType<typeof agentPool>

type Done = { value: Spoken; usage: Usage | null }

async function speak(
  deps: DriverDeps,
  pool: Pool,
  turn: TurnInput,
  steps: Steps,
  signal: AbortSignal,
): Promise<Done> {
  try {
    return await speakOnce(deps, pool, turn, steps, signal)
  } finally {
    rest(pool, turn)
  }
}

/** One prompt, with what is said to it meanwhile, and once more where its process died (D2). */
async function speakOnce(
  deps: DriverDeps,
  pool: Pool,
  turn: TurnInput,
  steps: Steps,
  signal: AbortSignal,
): Promise<Done> {
  const { id } = turn.session
  const before = await deps.lastSession(id, turn.agent.name)
  const interrupted = turn.attempt === 1 && before?.turn === turn.turn.id
  let agent = await openFor(deps, pool, turn, before?.id ?? null, signal)
  if (interrupted && !agent.conversation.loaded)
    throw await lose(pool, turn, 'it was interrupted and cannot go on where it was') // D4
  const said = { text: '' }
  for (let again = interrupted; ; again = true) {
    const text = again ? renderInterrupted(turn) : renderFirst(turn, agent.conversation.loaded || agent.used)
    agent.used = true
    try {
      await record(deps, turn, steps, agent)
      return await runPrompt(deps, agent, turn, steps, text, said, signal, () => pool.drop(id))
    } catch (fault) {
      await pool.drop(id)
      signal.throwIfAborted()
      if (!(fault instanceof ProcessEnded)) throw fault
      if (again || !agent.conversation.canLoad) throw await lose(pool, turn, fault.message)
      agent = await openFor(deps, pool, turn, agent.conversation.id, signal)
      if (!agent.conversation.loaded) throw await lose(pool, turn, fault.message)
    }
  }
}

async function lose(pool: Pool, { session, agent }: TurnInput, why: string): Promise<RunnerLost> {
  await pool.drop(session.id)
  return new RunnerLost(`${agent.name}: ${why}`)
}

/** What a call made is over with its turn, unless its answer may have to be repaired. */
function rest(pool: Pool, { session, responseSchema, attempt }: TurnInput): void {
  if (session.kind === 'ephemeral')
    pool.rest(session.id, responseSchema === undefined || attempt > 1 ? 0 : repairMs)
  else pool.rest(session.id)
}

const repairMs = 5000

/** Before it is asked: after a crash nobody could tell otherwise whether it was. */
async function record(deps: DriverDeps, turn: TurnInput, steps: Steps, agent: OpenAgent): Promise<void> {
  const { driven } = steps
  if (driven === undefined) return
  const connected = deps.door() === null || agent.connected || (await untilReached(deps, driven.reached))
  agent.connected ||= connected
  const { id: own, loaded } = agent.conversation
  const output: Json = { session: own, loaded, connected, agent: turn.agent.name }
  driven.seen({
    key: `${sessionStep}-${turn.attempt}-${agent.opened}`,
    name: sessionStep,
    isNote: true,
    input: null,
    ended: { ok: connected, output: connected ? output : { ...output, error: notConnected } },
  })
  await driven.keep()
}

const notConnected =
  'The agent took our MCP server and has not connected to it before its first prompt: ' +
  'it may be without the tools of Tieline.'
const reachMsMax = 3000
const reachLookMs = 50

/** That an entry was accepted does not mean that anybody has connected. */
async function untilReached({ clock }: DriverDeps, reached: () => boolean): Promise<boolean> {
  for (let waited = 0; waited < reachMsMax && !reached(); waited += reachLookMs)
    await clock.sleep(reachLookMs)
  return reached()
}

async function openFor(
  deps: DriverDeps,
  pool: Pool,
  turn: TurnInput,
  resume: string | null,
  signal: AbortSignal,
): Promise<OpenAgent> {
  const open = await pool.take(turn.session.id, () => openAgent(deps, turn, resume, signal))
  deps.continues.set(open.firstTurn, turn.turn.id)
  return open
}

async function openAgent(
  deps: DriverDeps,
  turn: TurnInput,
  resume: string | null,
  signal: AbortSignal,
): Promise<{ conversation: Conversation; firstTurn: TurnId; forget: () => void }> {
  const { agent, session } = turn
  const program = findProgram(agent, deps.around)
  if ('why' in program) throw new AgentUnavailable(program)
  const launch = await deps.launcher.wrap(
    { program: program.program, args: program.args, cwd: session.cwd, env: program.env },
    { sandbox: agent.sandbox, turn: turn.turn.id, own: program.places, seen: program.files },
  )
  if (isRefusal(launch)) throw new AgentUnavailable({ why: explain(launch), cure: 'see above' })
  const process = await startProcess(launch, deps.report).catch((fault: unknown) => {
    throw new AgentUnavailable({
      why: `it could not be started (${String(fault)})`,
      cure: 'start it by hand',
    })
  })
  const door = deps.door()
  const { openConversation } = await import('./conversation.ts')
  const conversation = await openConversation({
    process,
    cwd: session.cwd,
    mcp: door === null ? null : { url: `${door.url}/mcp`, token: door.mint(turn.turn.id) },
    resume,
    mode: program.quirks.modes[agent.permissions ?? 'ask'],
    preset: findPreset(agent),
    quirks: program.quirks,
    clock: deps.clock,
    version: deps.version,
    signal,
  })
  const firstTurn = turn.turn.id
  return { conversation, firstTurn, forget: () => void deps.continues.delete(firstTurn) }
}
