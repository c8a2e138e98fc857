/**
 * What the store knew when a recorded turn ran, from the log: its session, its conversation, and what a
 * decision about a call stood on.
 */
import type { Agent } from '../../model/agent.ts'
import { deadlinePassed } from '../../model/hop.ts'
import type { Entry } from '../../model/context.ts'
import type { EventOf, StoredEvent } from '../../model/event.ts'
import type { OpenFacts, SessionFacts, SessionRow, TurnRow } from '../../model/facts.ts'
import type { SessionId } from '../../model/id.ts'
import type { Refusal } from '../../model/refusal.ts'
import type { Hindrance } from '../kernel/driven-port.ts'
import { whyUntrusted, type UntrustedProject } from '../../model/untrusted.ts'
import type { EntryPage } from '../kernel/store-port.ts'
import type { Agents, SchemaCheck } from '../kernel/ports.ts'
import type { RecordedCall } from '../kernel/recorded.ts'
import type { Running } from '../kernel/running.ts'
import { readAll, type LogReader } from '../kernel/scope.ts'

/** The timelines of persistent sessions, read once each. */
export type Timelines = Map<SessionId, Promise<StoredEvent[]>>

/** A session as it was when one of its turns started: how long its conversation was, and its summary. */
export async function sessionThen(
  store: LogReader,
  timelines: Timelines,
  row: TurnRow,
  startedSeq: number,
): Promise<SessionRow | null> {
  const session = await store.session(row.session)
  if (session === null || session.kind === 'ephemeral') return session
  const timeline =
    timelines.get(session.id) ??
    readAll(store, 0, { sessions: [session.id], types: ['session.forked', 'turn.ended', 'step.ended'] })
  timelines.set(session.id, timeline)
  const then = {
    ...session,
    archived: false as const,
    entries: 0,
    summary: null as string | null,
    summaryEntries: 0,
  }
  for (const { seq, event } of await timeline) {
    if (seq >= startedSeq) break
    if (event.type === 'session.forked') then.entries = event.entries
    if (event.type === 'turn.ended' && event.entry !== null) then.entries = event.entry.n + 1
    if (event.type === 'step.ended' && event.kind === 'summary' && event.ok) {
      const { text, entries } = event.output as { text: string; entries: number }
      then.summary = text
      then.summaryEntries = entries
    }
  }
  return then
}

const entriesPerPage = 64

/** The newest entries of a conversation that had `total` of them, as far as they fit. */
export async function historyThen(
  store: LogReader,
  session: SessionId,
  total: number,
  tokensMax: number,
): Promise<EntryPage> {
  const entries: Entry[] = []
  let tokens = 0
  for (let last = total; last > 0; last -= entriesPerPage) {
    const numbers = Array.from({ length: Math.min(entriesPerPage, last) }, (_, index) => last - index)
    for (const entry of await store.entriesByNumber(session, numbers)) {
      tokens += entry.tokens
      if (tokens > tokensMax) return cutPage(entries, total)
      entries.unshift(entry)
      if (tokens === tokensMax) return cutPage(entries, total)
    }
  }
  return cutPage(entries, total)
}

const cutPage = (entries: Entry[], total: number): EntryPage => ({
  entries,
  total,
  dropped: { budget: total - entries.length },
})

/** The messages that a recorded call passed, and the count of those that it dropped. */
export async function passedThen(store: LogReader, recorded: RecordedCall): Promise<EntryPage> {
  const messages = recorded.type === 'call.opened' ? recorded.context.messages : null
  if (messages === null) return { entries: [], total: 0, dropped: {} }
  const entries = await store.entriesByNumber(messages.session as SessionId, messages.passed)
  const { roles } = messages
  // An entry that passed for its steps alone has left its text behind.
  return {
    entries: entries.map((entry) =>
      roles === null || roles.includes(entry.role) ? entry : { ...entry, text: '', tokens: 0 },
    ),
    total: messages.total,
    dropped: messages.dropped,
    ...(messages.present === undefined && { older: true }),
  }
}

/**
 * What was said about the directory. A refusal of the context is answered as it was: the text that did not
 * fit is not in the record.
 */
export function workspaceThen(recorded: RecordedCall): { text: string } | Refusal | null {
  if (recorded.type === 'call.opened')
    return recorded.context.workspace === null ? null : { text: recorded.context.workspace }
  return recorded.refusal.code === 'bad_input' || recorded.refusal.code === 'context_too_large'
    ? recorded.refusal
    : { text: '' }
}

/** Which of the files that a subagent was given were missing then; why it was refused because of them. */
export function filesThen(
  recorded: RecordedCall,
  files: readonly string[],
): { text: string; missing: string[] } | Refusal {
  if (recorded.type === 'call.refused')
    return recorded.refusal.code === 'bad_input' ? recorded.refusal : { text: '', missing: [] }
  const lines = (recorded.attachment ?? '').split('\n')
  return { text: '', missing: files.filter((file) => lines.includes(`- ${file} (missing)`)) }
}

/** What was said about the schema of a call before it was decided. */
export function schemaThen(recorded: RecordedCall): SchemaCheck {
  const refusal = recorded.type === 'call.refused' ? recorded.refusal : null
  return refusal?.code === 'bad_input' && refusal.field === 'output_schema'
    ? { kind: 'refused', refusal }
    : { kind: 'checked', problems: [] }
}

/**
 * Which projects were trusted, and which agents could be run, is what the record says, too: keys and programs
 * of the machine that replays it count for nothing.
 */
export function agentsThen(agents: Agents, timeline: readonly StoredEvent[]): Agents {
  const untrusted = timeline.flatMap(({ event }): UntrustedProject[] =>
    event.type === 'call.refused' && event.refusal.code === 'project_untrusted'
      ? [{ file: event.refusal.file, agents: [event.refusal.agent], ...readState(event.refusal.why) }]
      : [],
  )
  const hindrances = new Map(
    timeline.flatMap(({ event }): [string, Hindrance][] =>
      event.type === 'call.refused' && event.refusal.code === 'agent_unavailable'
        ? [[event.refusal.agent, { why: event.refusal.why, cure: event.refusal.cure }]]
        : [],
    ),
  )
  const then: Agents = {
    ...agents,
    whyUnavailable: ({ title, name }) => hindrances.get(title ?? name) ?? null,
  }
  if (untrusted.length === 0) return then
  const isAway = (name: string): boolean => untrusted.some(({ agents: away }) => away.includes(name))
  return {
    ...then,
    get: (name) => (isAway(name) ? undefined : agents.get(name)),
    resolve: (name) => (isAway(name) ? undefined : (agents.resolve?.(name) ?? agents.get(name))),
    untrusted: () => untrusted,
  }
}

function readState(why: string): Pick<UntrustedProject, 'state' | 'problem'> {
  const broken = `${whyUntrusted.broken}: `
  if (why.startsWith(broken)) return { state: 'broken', problem: why.slice(broken.length) }
  return { state: why === whyUntrusted.changed ? 'changed' : 'new' }
}

export const restingSession: SessionFacts = {
  session: null,
  running: null,
  runnerAlive: true,
  queued: 0,
  next: null,
}

export type CallMoment = {
  recorded: RecordedCall
  at: number
  /** What had happened to the caller's own turn by then. */
  ownEnd: EventOf<'call.ended'> | null
  cancelled: EventOf<'turn.cancelled'> | null
  targetAgent: Agent | undefined
}

/**
 * The facts of the moment are answered so that the rules decide as they did only if all that the turn itself
 * brought is the same: its authority, its path, its task, its configuration.
 * How busy others were, and how much of a budget was left, is what the record says.
 */
export function openFactsThen(running: Running, target: SessionRow | null, moment: CallMoment): OpenFacts {
  const refusal = moment.recorded.type === 'call.refused' ? moment.recorded.refusal : null
  const { row } = running
  const timeThen = (deadline: number): number =>
    isPast(refusal) ? Math.min(deadline, moment.at) : Math.max(deadline, moment.at + 1)
  const call =
    row.call === null
      ? null
      : {
          ...row.call,
          deadline: timeThen(row.call.deadline),
          pending: moment.ownEnd === null,
          outcome: moment.ownEnd?.outcome ?? null,
        }
  const rate = refusal?.code === 'rate_limited' ? refusal : null
  return {
    caller: {
      turn: {
        ...row,
        call,
        deadline: timeThen(row.deadline),
        stopping: moment.cancelled?.outcome ?? null,
        tokensBelow: tokensBelowThen(running, moment),
        spent: running.spent,
        nanoUsdBelow: moneyBelowThen(running, moment),
      },
      session: running.session,
    },
    openCalls: refusal?.code === 'too_many_calls' ? refusal.open : 0,
    descendants: refusal?.code === 'too_many_descendants' ? refusal.created : 0,
    callsLastMinute: rate?.perMinute ?? 0,
    oldestCallAt: rate === null ? null : moment.at - 60_000 + rate.retryInMs,
    target: {
      session: refusal?.code === 'session_unknown' ? null : target,
      queued: refusal?.code === 'queue_full' ? refusal.queued : 0,
      waitPath: refusal?.code === 'call_deadlock' ? refusal.path.slice(1).map(toHop) : null,
    },
    ...dayThen(refusal),
  }
}

const readUsd = (refusal: Refusal | null) => (refusal?.code === 'budget_exhausted' ? refusal.usd : undefined)
const isOfTask = (usd: ReturnType<typeof readUsd>): boolean => usd !== undefined && usd.day === undefined

function dayThen(refusal: Refusal | null): Pick<OpenFacts, 'day'> {
  const usd = readUsd(refusal)
  return usd?.day === undefined ? {} : { day: { of: usd.day, max: usd.max, used: usd.used } }
}

/** How much time was left is what the record says too: the wall clock may have been set meanwhile. */
const isPast = (refusal: Refusal | null): boolean =>
  refusal?.code === 'call_ended' && refusal.why === deadlinePassed

/** `agent (ses_…)`, as a refusal names the hops of a ring. */
function toHop(text: string): { agent: string; session: SessionId } {
  const [, agent = text, session = 'ses_unknown'] = /^(.*) \((ses_.*)\)$/.exec(text) ?? []
  return { agent, session: session as SessionId }
}

function tokensBelowThen(running: Running, { recorded, targetAgent }: CallMoment): number {
  const max = running.row.grant.tokensMax
  if (max === null) return 0
  const left =
    recorded.type === 'call.refused'
      ? recorded.refusal.code === 'budget_exhausted' && recorded.refusal.usd === undefined
        ? recorded.refusal.left
        : max
      : leftFor(running, recorded, targetAgent)
  return max - running.tokensUsed - left
}

/** A call that asks for no number of tokens is given half of what is left, and all of it by a client. */
function leftFor(
  { session }: Running,
  opened: EventOf<'call.opened'>,
  targetAgent: Agent | undefined,
): number {
  const held = opened.grant.tokensMax ?? 0
  if (session.kind === 'external') return held
  const asked =
    typeof opened.requested === 'object' && opened.requested !== null && 'maxTokens' in opened.requested
  return asked || targetAgent?.limits.maxTokens !== undefined ? held : held * 2
}

/** The same in money: what was refused for it left nothing, and what was opened had what it holds, or twice that. */
function moneyBelowThen(running: Running, { recorded, targetAgent }: CallMoment): number {
  const max = running.row.grant.nanoUsdMax
  if (max === undefined) return 0
  const spent = running.spent.nanoUsd
  if (recorded.type === 'call.refused') return isOfTask(readUsd(recorded.refusal)) ? max - spent : 0
  const held = recorded.grant.nanoUsdMax ?? 0
  const { requested } = recorded
  const asked = typeof requested === 'object' && requested !== null && 'maxUsd' in requested
  const isAll = asked || targetAgent?.limits.maxUsd !== undefined || running.session.kind === 'external'
  return max - spent - (isAll ? held : held * 2)
}
