import type { StreamedEvent } from '../../../src/wire/log.ts'
import type { Event, EventOf, EventType } from '../../../src/model/event.ts'
import { opensTurn } from '../../../src/model/opening.ts'
import { firstLine } from '../amounts.ts'
import { foldMail } from './fold-mail.ts'
import { called, sessionOf, type CallFact, type FlowFact, type Ledger, type TurnFact } from './ledger.ts'

/** `at` and `seq` are those of the event; `isNew` where it came after the lists were read. */
type Moment = { at: number; seq: number; isNew: boolean }
type Touch = (topic: string) => void
type Folds = { [T in EventType]?: (ledger: Ledger, event: EventOf<T>, moment: Moment, touch: Touch) => void }

const textMax = 300
const noticesMax = 1000

export function foldEvent(
  ledger: Ledger,
  { seq, at, event }: StreamedEvent,
  isNew: boolean,
  touch: Touch,
): void {
  const moment: Moment = { at, seq: Number(seq), isNew }
  const session = sessionOf(ledger, event.session, at)
  if (at > session.updatedAt) session.updatedAt = at
  const turn = event.turn === null ? null : turnOf(ledger, event.turn, event.session, moment)
  const fold = folds[event.type] as
    | ((ledger: Ledger, event: StreamedEvent['event'], moment: Moment, touch: Touch) => void)
    | undefined
  fold?.(ledger, event, moment, touch)
  touch(`session:${event.session}`)
  if (turn?.flow != null) touchFlow(ledger, turn.flow, moment.seq, touch)
  if (!isMail(event)) return
  foldMail(ledger, event, moment)
  if (opensTurn(event)) openByMessage(ledger, event, moment, touch)
  touch('mail')
  if (event.type !== 'message.sent' || event.turn === null) touch('sessions')
}

function touchFlow(ledger: Ledger, id: string, seq: number, touch: Touch): void {
  const flow = ledger.flows.get(id)
  if (flow !== undefined) flow.lastSeq = Math.max(flow.lastSeq, seq)
  touch(`flow:${id}`)
}

export function turnOf(ledger: Ledger, id: string, session: string, { at, seq }: Moment): TurnFact {
  const known = ledger.turns.get(id)
  if (known !== undefined) return known
  const turn: TurnFact = {
    id,
    session,
    agent: called(ledger, ledger.sessions.get(session)?.agent ?? ''),
    flow: null,
    call: null,
    text: '',
    source: 'user',
    from: null,
    applet: null,
    message: null,
    openedAt: at,
    openedSeq: seq,
    startedAt: null,
    deadline: null,
    endedAt: null,
    endedSeq: null,
    stopping: false,
    outcome: null,
    error: null,
    hasEntry: false,
    entryTokens: 0,
    usage: new Map(),
    tokensMax: null,
    depth: 0,
  }
  ledger.turns.set(id, turn)
  sessionOf(ledger, session, at).turnIds.add(id)
  return turn
}

function joinFlow(ledger: Ledger, turn: TurnFact, seq: number, touch: Touch): void {
  if (turn.flow === null) return
  const flow = ledger.flows.get(turn.flow)
  if (flow === undefined) {
    const made: FlowFact = {
      id: turn.flow,
      turn: turn.id,
      session: turn.session,
      agent: turn.agent,
      text: turn.text,
      source: turn.source,
      openedAt: turn.openedAt,
      firstSeq: seq,
      lastSeq: seq,
      turns: new Set([turn.id]),
      calls: new Set(),
    }
    ledger.flows.set(turn.flow, made)
    touch('flows')
    return
  }
  flow.turns.add(turn.id)
  // The log may have been read from the middle: the earliest turn is the root.
  if (turn.openedSeq < flow.firstSeq)
    Object.assign(flow, {
      turn: turn.id,
      session: turn.session,
      agent: turn.agent,
      text: turn.text,
      source: turn.source,
      openedAt: turn.openedAt,
      firstSeq: seq,
    })
}

function callOf(
  ledger: Ledger,
  id: string,
  event: { session: string; turn: string | null },
  { at, seq }: Moment,
): CallFact {
  const known = ledger.calls.get(id)
  if (known !== undefined) return known
  const call: CallFact = {
    id,
    flow: null,
    tool: '',
    callerSession: event.session,
    callerTurn: event.turn,
    callerAgent: called(ledger, ledger.sessions.get(event.session)?.agent ?? ''),
    target: null,
    agent: '',
    task: '',
    background: false,
    openedAt: at,
    openedSeq: seq,
    deadline: null,
    endedAt: null,
    outcome: null,
    error: null,
    tokensUsed: 0,
    contextTokens: null,
    path: [],
    refusal: null,
  }
  ledger.calls.set(id, call)
  return call
}

const short = (text: string): string => firstLine(text, textMax)

const folds: Folds = {
  'agent.created'(ledger, event, _moment, touch) {
    ledger.agentNames.set(event.agent, event.definition.title)
    touch('agents')
  },
  'agent.deleted': (_ledger, _event, _moment, touch) => touch('agents'),
  'session.created'(ledger, event, { at }, touch) {
    const session = sessionOf(ledger, event.session, at)
    Object.assign(session, {
      agent: event.agent,
      agentName: called(ledger, event.agent),
      kind: event.kind,
      cwd: event.cwd,
      createdAt: at,
    })
    if (session.parent === null) session.parent = event.parent
    if (session.title === '') session.title = event.title
    session.model ??= event.model
    touch('sessions')
  },
  'session.adopted'(ledger, event, { at, isNew }, touch) {
    if (isNew) Object.assign(sessionOf(ledger, event.session, at), { parent: event.parent, orphan: false })
    touch('sessions')
  },
  'session.renamed'(ledger, event, { at, isNew }, touch) {
    const session = sessionOf(ledger, event.session, at)
    if (isNew || !session.isListed) session.title = event.title
    touch('sessions')
  },
  'session.archived'(ledger, event, { at, isNew }, touch) {
    const session = sessionOf(ledger, event.session, at)
    // What is older than the list was known to it.
    if (isNew || !session.isListed) session.archived = true
    if (isNew)
      for (const child of ledger.sessions.values())
        if (child.parent === session.id && !child.archived) child.orphan = true
    touch('sessions')
  },
  'session.forked'(ledger, event, { at }) {
    sessionOf(ledger, event.session, at).forkedFrom = event.from
  },
  'turn.started'(ledger, event, moment) {
    if (event.turn === null) return
    const turn = turnOf(ledger, event.turn, event.session, moment)
    turn.startedAt ??= moment.at
    turn.deadline = event.deadline
    if (turn.endedAt === null) sessionOf(ledger, event.session, moment.at).liveTurns.add(turn.id)
  },
  'turn.cancelled'(ledger, event, moment) {
    if (event.turn !== null) turnOf(ledger, event.turn, event.session, moment).stopping = true
  },
  'turn.ended'(ledger, event, moment, touch) {
    if (event.turn === null) return
    const turn = turnOf(ledger, event.turn, event.session, moment)
    Object.assign(turn, {
      endedAt: moment.at,
      endedSeq: moment.seq,
      outcome: event.outcome,
      error: event.error,
      hasEntry: event.entry !== null,
      entryTokens: event.entry === null ? 0 : event.entry.askedTokens + event.entry.answeredTokens,
    })
    const session = sessionOf(ledger, event.session, moment.at)
    session.liveTurns.delete(turn.id)
    if (session.liveTurns.size === 0) session.waitsFor.clear()
    session.turns += 1
    if (moment.isNew)
      session.resting = event.outcome === 'completed' || event.outcome === 'cancelled' ? 'idle' : 'error'
    for (const question of ledger.questions.values())
      if (question.turn === turn.id) forgetQuestion(ledger, question.id, touch)
    touch('sessions')
    touch('flows')
    touch('waits')
  },
  'step.ended'(ledger, event, moment) {
    if (event.usage === null || event.turn === null) return
    const turn = turnOf(ledger, event.turn, event.session, moment)
    const known = turn.usage.get(event.name) ?? { input: 0, output: 0, estimated: false }
    turn.usage.set(event.name, {
      input: known.input + event.usage.input,
      output: known.output + event.usage.output,
      estimated: known.estimated || event.usage.estimated,
    })
    sessionOf(ledger, event.session, moment.at).tokens += event.usage.input + event.usage.output
  },
  'call.opened'(ledger, event, moment, touch) {
    const call = callOf(ledger, event.call, event, moment)
    Object.assign(call, {
      flow: event.flow,
      tool: event.tool,
      target: event.target,
      agent: called(ledger, event.grant.agent),
      task: short(event.task),
      background: event.background,
      openedAt: moment.at,
      openedSeq: moment.seq,
      deadline: event.deadline,
      contextTokens: event.context.tokens,
      path: event.grant.path.map((hop) => called(ledger, hop.agent)),
      callerAgent: called(ledger, event.grant.path.at(-2)?.agent ?? call.callerAgent),
    })
    if (call.endedAt === null && !event.background)
      sessionOf(ledger, event.session, moment.at).waitsFor.add(event.call)
    const target = sessionOf(ledger, event.target, moment.at)
    if (target.agent === '') target.agent = event.grant.agent
    if (target.kind === 'ephemeral' && target.parent === null) target.parent = event.session
    const turn = turnOf(ledger, `turn_${event.call.slice(5)}`, event.target, moment)
    Object.assign(turn, {
      flow: event.flow,
      call: event.call,
      agent: called(ledger, event.grant.agent),
      text: short(event.task),
      source: 'agent',
      from: event.session,
      openedAt: moment.at,
      openedSeq: moment.seq,
      tokensMax: event.grant.tokensMax,
      depth: event.grant.depth,
    })
    opened(ledger, turn, moment, touch)
    ledger.flows.get(event.flow)?.calls.add(event.call)
    touch('waits')
    touch('calls')
    touch(`session:${event.target}`)
  },
  'call.refused'(ledger, event, moment, touch) {
    const call = callOf(ledger, event.call, event, moment)
    const flow = event.turn === null ? null : (ledger.turns.get(event.turn)?.flow ?? null)
    Object.assign(call, {
      tool: event.tool,
      agent: called(ledger, event.agent),
      task: short(event.task),
      flow,
      openedAt: moment.at,
      endedAt: moment.at,
      outcome: 'refused',
      refusal: event.refusal,
    })
    ledger.refused.push({
      seq: moment.seq,
      at: moment.at,
      call: event.call,
      session: event.session,
      agent: called(ledger, event.agent),
      callerAgent: call.callerAgent,
      tool: event.tool,
      task: short(event.task),
      refusal: event.refusal,
    })
    if (flow !== null) ledger.flows.get(flow)?.calls.add(event.call)
    bounded(ledger.refused)
    touch('waits')
    touch('calls')
  },
  'call.ended'(ledger, event, moment, touch) {
    const call = callOf(ledger, event.call, event, moment)
    Object.assign(call, {
      target: event.target,
      endedAt: event.endedAt,
      openedAt: Math.min(call.openedAt, event.openedAt),
      outcome: event.outcome,
      error: event.errors[0] ?? null,
      tokensUsed: event.tokensUsed,
    })
    sessionOf(ledger, event.session, moment.at).waitsFor.delete(event.call)
    touch('waits')
    touch('calls')
    touch(`session:${event.target}`)
  },
  'wait.started'(ledger, event, { at }, touch) {
    const turn = event.turn === null ? undefined : ledger.turns.get(event.turn)
    if (turn?.endedAt === null) sessionOf(ledger, event.session, at).waitsFor.add(event.target)
    touch('waits')
  },
  'wait.ended'(ledger, event, { at }, touch) {
    sessionOf(ledger, event.session, at).waitsFor.delete(event.target)
    touch('waits')
  },
  'question.asked'(ledger, event, { at }, touch) {
    const turn = event.turn === null ? undefined : ledger.turns.get(event.turn)
    if (
      ledger.answered.has(event.question) ||
      event.turn === null ||
      (turn !== undefined && turn.endedAt !== null)
    )
      return
    ledger.questions.set(event.question, {
      id: event.question,
      session: event.session,
      turn: event.turn,
      flow: event.flow,
      agent: called(ledger, event.agent),
      tool: event.tool,
      input: event.input,
      path: event.path.map((name) => called(ledger, name)),
      askedAt: at,
      deadline: event.deadline,
    })
    touch('questions')
  },
  'question.answered': (ledger, event, _moment, touch) => forgetQuestion(ledger, event.question, touch),
  'notice.raised'(ledger, event, { seq, at }, touch) {
    ledger.notices.push({ seq, at, session: event.session, about: event.about, text: event.text })
    bounded(ledger.notices)
    touch('notices')
  },
}

const isMail = (event: Event): event is Extract<Event, { type: `message.${string}` }> =>
  event.type.startsWith('message.')

function openByMessage(
  ledger: Ledger,
  event: EventOf<'message.sent'> | EventOf<'message.delivered'>,
  moment: Moment,
  touch: Touch,
): void {
  const session = sessionOf(ledger, event.session, moment.at)
  if (moment.isNew || !session.isListed) session.archived = false
  if (event.turn === null) return
  const turn = turnOf(ledger, event.turn, event.session, moment)
  Object.assign(turn, {
    flow: event.flow,
    agent: called(ledger, event.grant.agent),
    text: short(event.text),
    source: event.source,
    from: event.from,
    applet: event.applet,
    message: event.message,
    openedAt: moment.at,
    openedSeq: moment.seq,
    tokensMax: event.grant.tokensMax,
    depth: event.grant.depth,
  })
  if (session.agent === '') session.agent = event.grant.agent
  opened(ledger, turn, moment, touch)
}

/** A turn has its input: it runs or waits for its turn. */
function opened(ledger: Ledger, turn: TurnFact, moment: Moment, touch: Touch): void {
  if (turn.endedAt === null) sessionOf(ledger, turn.session, moment.at).liveTurns.add(turn.id)
  joinFlow(ledger, turn, moment.seq, touch)
  touch('sessions')
}

function forgetQuestion(ledger: Ledger, question: string, touch: Touch): void {
  ledger.answered.add(question)
  ledger.questions.delete(question)
  touch('questions')
}

function bounded(list: { seq: number }[]): void {
  const last = list.at(-1)
  const before = list.at(-2)
  if (last !== undefined && before !== undefined && before.seq > last.seq) list.sort((a, b) => a.seq - b.seq)
  if (list.length > noticesMax) list.splice(0, list.length - noticesMax)
}
