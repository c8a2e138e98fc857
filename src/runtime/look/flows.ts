/** Requests for lists: each with its task, how it ended for the one who asked, and what it waits for now. */
import { renderCost } from '../../model/money.ts'
import type { OpeningMessage, Outcome } from '../../model/event.ts'
import type { SessionRow, TurnRow } from '../../model/facts.ts'
import type { TurnId } from '../../model/id.ts'
import { opensTurn } from '../../model/opening.ts'
import { explain } from '../../model/refusal.ts'
import { isFailure, isLook, nameText, readRootEnd, readTask, type Made } from '../../model/request-name.ts'
import { preview } from '../../model/text.ts'
import { userSession } from '../../model/mail.ts'
import type { WaitedFor } from '../../wire/explain.ts'
import type { FlowState, FlowSummary } from '../../wire/flows.ts'
import { mapGently } from '../kernel/gently.ts'
import type { RootRow, RootsAsk } from '../kernel/lists-port.ts'
import { readAll } from '../kernel/scope.ts'
import { explainStall } from './explain.ts'
import type { Runtime } from './runtime.ts'
import { readSpent } from './spent.ts'
import { displayAgent, isRun } from './state.ts'

const turnsMax = 10_000
const lastWordsPoints = 500

export type Opened = {
  row: TurnRow
  session: SessionRow
  event: OpeningMessage
  at: number
  isClient: boolean
}

/** The request that a flow began with. */
export async function readRoot(runtime: Runtime, turn: TurnId): Promise<Opened | null> {
  const row = await runtime.store.turn(turn)
  return row === null ? null : readOpened(runtime, row)
}

async function readOpened(runtime: Runtime, row: TurnRow): Promise<Opened | null> {
  const opened = await runtime.store.event(row.openedSeq)
  const session = opened === null ? null : await runtime.store.session(row.session)
  if (session === null || opened === null || !opensTurn(opened.event)) return null
  return { row, session, event: opened.event, at: opened.at, isClient: session.kind === 'external' }
}

export const toRootTurn = (flow: string): TurnId => `turn_${flow.slice(5)}`

/** How it ended, of what a client's own turn called or was refused the last; only that is read. */
async function readLastMade(
  runtime: Runtime,
  { row }: Opened,
  rows: readonly TurnRow[],
): Promise<(Made & { output: string }) | null> {
  const last = rows.findLast(({ call }) => call?.callerTurn === row.id)
  if (last?.call != null) {
    const { pending, outcome } = last.call
    const ended = pending || last.endedSeq === null ? null : await runtime.store.event(last.endedSeq)
    const end = ended?.event.type === 'call.ended' ? ended.event : null
    return { outcome, error: end?.errors[0] ?? null, output: end?.output ?? '' }
  }
  const filter = { sessions: [row.session], types: ['call.refused' as const] }
  const events = await readAll(runtime.store, row.openedSeq - 1, filter, row.endedSeq ?? Infinity)
  const refused = events.findLast(({ event }) => event.turn === row.id)?.event
  return refused?.type === 'call.refused'
    ? { outcome: 'refused', error: explain(refused.refusal), output: '' }
    : null
}

/** How it ended for the one who asked; null while it runs. `rows` are the turns of its flow. */
export async function readRequestEnd(
  runtime: Runtime,
  root: Opened,
  rows: readonly TurnRow[],
): Promise<(Made & { outcome: Outcome; at: number; output: string }) | null> {
  const stored = root.row.endedSeq === null ? null : await runtime.store.event(root.row.endedSeq)
  const end = stored?.event.type === 'turn.ended' ? stored.event : null
  if (stored === null || end === null) return null
  const made = root.isClient ? await readLastMade(runtime, root, rows) : null
  return {
    ...readRootEnd(end, root.isClient, made === null ? [] : [made]),
    at: stored.at,
    output: root.isClient ? (made?.output ?? '') : end.output,
  }
}

/** Who asked, in one word. */
export const nameAsker = (runtime: Runtime, { session, event, isClient }: Opened): string =>
  isClient && session.id !== userSession
    ? displayAgent(runtime, session)
    : event.source === 'applet'
      ? (event.applet ?? 'an applet')
      : 'you'

const stateOn: Readonly<Partial<Record<WaitedFor, FlowState>>> = {
  person: 'asking',
  program: 'away',
  queue: 'queued',
  server: 'queued',
}

export const readRemark =
  ({ running }: Runtime) =>
  (turn: TurnId): string =>
    running.get(turn)?.remark ?? ''

/** As `explain` says it, so that there is one sentence for each request everywhere. */
async function readState(
  runtime: Runtime,
  root: TurnRow,
  rows: readonly TurnRow[],
): Promise<{ state: FlowState; waitsFor: string }> {
  if (rows.every((row) => row.state === 'ended')) return { state: 'ended', waitsFor: '' }
  const isThere = (session: SessionRow): boolean => isRun(runtime, session)
  const ports = {
    store: runtime.store,
    now: runtime.clock.now(),
    lists: runtime.lists,
    isRun: isThere,
    remark: readRemark(runtime),
  }
  const explained = await explainStall(ports, root.flow)
  const waiting = explained?.roots.find(({ on }) => on !== null)
  if (waiting === undefined) {
    const hindered = rows.some(({ id }) => readRemark(runtime)(id) !== '')
    return { state: 'running', waitsFor: hindered ? (explained?.roots[0]?.sentence ?? '') : '' }
  }
  return { state: stateOn[waiting.on ?? 'call'] ?? 'running', waitsFor: waiting.sentence }
}

/** What the newest live turn said last. */
export async function readLastWords(runtime: Runtime, { id, session, openedSeq }: TurnRow): Promise<string> {
  const steps = await readAll(runtime.store, openedSeq - 1, { sessions: [session], types: ['step.ended'] })
  for (const { event } of steps.toReversed()) {
    if (event.type !== 'step.ended' || event.turn !== id || event.kind !== 'model') continue
    const { text } = (event.output ?? {}) as { text?: unknown }
    if (typeof text === 'string' && text.trim() !== '') return preview(text, lastWordsPoints)
  }
  return ''
}

/** Whom a client's own turn called first. */
function nameAsked({ agents }: Runtime, called: readonly TurnRow[], turn: TurnId): string {
  const asked = called.find(({ call }) => call?.callerTurn === turn)?.grant.agent ?? ''
  return agents.get(asked)?.title ?? asked
}

/** Null for what a client only looked up. */
export async function summariseFlow(
  runtime: Runtime,
  { turn, seen }: Pick<RootRow, 'turn' | 'seen'>,
): Promise<FlowSummary | null> {
  const rows = await runtime.store.turns({ flow: `flow_${turn.slice(5)}` }, turnsMax)
  const first = rows.find(({ id }) => id === turn)
  const root = first === undefined ? null : await readOpened(runtime, first)
  if (root === null || isLook(root.event, root.isClient)) return null
  const { row, session, event, at, isClient } = root
  const called = rows.filter(({ call }) => call !== null)
  const end = await readRequestEnd(runtime, root, rows)
  const { state, waitsFor } = await readState(runtime, row, rows)
  const live = rows.findLast((one) => one.state === 'running')
  const task = readTask(event, isClient)
  const spent = await readSpent(runtime.store, rows)
  return {
    flow: row.flow,
    turn: row.id,
    session: row.session,
    askedBy: nameAsker(runtime, root),
    agent: isClient ? nameAsked(runtime, called, turn) : displayAgent(runtime, session),
    title: nameText(task),
    task,
    cwd: session.cwd,
    state,
    waitsFor,
    outcome: end?.outcome ?? null,
    error: end?.error ?? null,
    lastWords:
      state === 'ended' || live === undefined
        ? preview(end?.output ?? '', lastWordsPoints)
        : await readLastWords(runtime, live),
    calls: called.length,
    failedCalls: called.filter(({ call }) => isFailure(call?.outcome ?? null)).length,
    tokensUsed: spent.total.tokens,
    cost: renderCost(spent.total.spent),
    openedAt: at,
    endedAt: end?.at ?? null,
    durationMs: (end?.at ?? runtime.clock.now()) - at,
    seen,
  }
}

export type FlowsAsk = {
  state?: string | undefined
  agent?: string | undefined
  project?: string | undefined
  limit: number
  before: number | null
}

/** R11: how many requests one page summarises for those that fit; of those that live each has to be explained. */
const summarisedMax = { live: 100, others: 300 }

const liveStates: ReadonlySet<string> = new Set(['live', 'running', 'asking', 'queued', 'away'])

export async function listFlows(
  runtime: Runtime,
  ask: FlowsAsk,
): Promise<{ flows: FlowSummary[]; next: number | null }> {
  const isLive = liveStates.has(ask.state ?? '')
  const flows: FlowSummary[] = []
  let [next, left] = [ask.before, isLive ? summarisedMax.live : summarisedMax.others]
  do {
    const page = await runtime.lists.roots(toRootsAsk(runtime, ask, next, isLive), ask.limit - flows.length)
    const summarised = await mapGently(runtime, page.roots, (root) => summariseFlow(runtime, root))
    flows.push(...summarised.filter((flow) => flow !== null).filter((flow) => fits(flow, ask)))
    next = page.next
    left -= page.roots.length
    // A page that looked through what it may, and found nothing, says where to go on.
    if (page.roots.length === 0) break
  } while (next !== null && flows.length < ask.limit && left > 0)
  return { flows, next }
}

/** What the store can tell of each without reading it; the rest is up to `fits`. */
const toRootsAsk = (
  runtime: Runtime,
  { state, agent, project }: FlowsAsk,
  before: number | null,
  isLive: boolean,
): RootsAsk => ({
  before,
  ...(isLive
    ? { state: 'live' as const }
    : state === 'ended' || state === 'failed' || state === 'unseen'
      ? { state }
      : {}),
  ...(agent === undefined ? {} : { agents: listNamed(runtime, agent) }),
  ...(project === undefined ? {} : { dir: project }),
})

/** Agents that people call so: by their name, or by their title. */
const listNamed = ({ agents }: Runtime, name: string): string[] => [
  ...new Set([name, ...agents.names().filter((one) => agents.get(one)?.title === name)]),
]

function fits(flow: FlowSummary, { state, agent, project }: FlowsAsk): boolean {
  if (agent !== undefined && flow.agent !== agent) return false
  if (project !== undefined && flow.cwd !== project && !flow.cwd.startsWith(`${project.replace(/\/$/, '')}/`))
    return false
  if (state === undefined) return true
  if (state === 'live') return flow.state !== 'ended'
  if (state === 'failed' || state === 'unseen') return flow.state === 'ended' && isFailure(flow.outcome)
  return flow.state === state
}
