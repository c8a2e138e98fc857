import type { StreamedEvent } from '../../../src/wire/log.ts'
import type { Event, EventOf, EventType, OpeningMessage, Outcome } from '../../../src/model/event.ts'
import { opensTurn } from '../../../src/model/opening.ts'

export type Segment = {
  kind: 'model' | 'tool' | 'call' | 'wait' | 'question'
  name: string
  from: number
  to: number | null
  ok: boolean
  key: string
}

/** One turn of the flow, or a call that was refused before it became one. */
export type Bar = {
  id: string
  call: string | null
  session: string
  agent: string
  parent: string | null
  depth: number
  tool: string
  text: string
  openedAt: number
  startedAt: number | null
  endedAt: number | null
  deadline: number | null
  outcome: Outcome | null
  error: string | null
  tokens: number
  segments: Segment[]
  /** What the model said in its steps so far. */
  said: string[]
  opened: EventOf<'call.opened'> | OpeningMessage | null
  refused: EventOf<'call.refused'> | null
  ended: EventOf<'call.ended'> | null
  turnEnded: EventOf<'turn.ended'> | null
  stopping: boolean
}

export type FlowPicture = {
  bars: Map<string, Bar>
  root: Bar | null
  from: number
  to: number
  tokens: number
  tokensMax: number | null
  open: number
}

/** `named` says what people call an agent. */
export function foldFlow(
  events: readonly StreamedEvent[],
  count = events.length,
  named: (agent: string) => string = (agent) => agent,
): FlowPicture {
  const bars = new Map<string, Bar>()
  const picture: FlowPicture = { bars, root: null, from: 0, to: 0, tokens: 0, tokensMax: null, open: 0 }
  for (let index = 0; index < count; index += 1) {
    const streamed = events[index]
    if (streamed === undefined) break
    if (index === 0) picture.from = streamed.at
    picture.to = Math.max(picture.to, streamed.at)
    step(picture, streamed.event, streamed.at, named)
  }
  for (const bar of bars.values()) {
    picture.tokens += bar.tokens
    cutSteps(bar)
    if (bar.endedAt === null) picture.open += 1
  }
  return picture
}

const emptyBar = (id: string, event: Event, at: number): Bar => ({
  id,
  call: null,
  session: event.session,
  agent: '',
  parent: null,
  depth: 0,
  tool: '',
  text: '',
  openedAt: at,
  startedAt: null,
  endedAt: null,
  deadline: null,
  outcome: null,
  error: null,
  tokens: 0,
  segments: [],
  said: [],
  opened: null,
  refused: null,
  ended: null,
  turnEnded: null,
  stopping: false,
})

function step(picture: FlowPicture, event: Event, at: number, named: (agent: string) => string): void {
  if (opensTurn(event)) return openMessage(picture, event, event.turn, at, named)
  if (event.type === 'call.opened') return openCall(picture, event, at, named)
  if (event.type === 'call.refused') return refuseCall(picture, event, at, named)
  const bar = event.turn === null ? undefined : picture.bars.get(event.turn)
  const fold = inner[event.type] as
    | ((bar: Bar, event: Event, at: number, picture: FlowPicture) => void)
    | undefined
  if (bar !== undefined) fold?.(bar, event, at, picture)
}

function openMessage(
  picture: FlowPicture,
  event: OpeningMessage,
  turn: string,
  at: number,
  named: (agent: string) => string,
): void {
  const bar: Bar = {
    ...emptyBar(turn, event, at),
    agent: named(event.grant.agent),
    parent: event.senderTurn !== null && picture.bars.has(event.senderTurn) ? event.senderTurn : null,
    depth: event.grant.depth,
    tool: event.from === null ? '' : 'message',
    text: event.text,
    deadline: event.deadline,
    opened: event,
  }
  picture.bars.set(turn, bar)
  if (picture.root !== null) return
  picture.root = bar
  picture.tokensMax = event.grant.tokensMax
}

function openCall(
  picture: FlowPicture,
  event: EventOf<'call.opened'>,
  at: number,
  named: (agent: string) => string,
): void {
  const id = `turn_${event.call.slice(5)}`
  picture.bars.set(id, {
    ...emptyBar(id, event, at),
    call: event.call,
    session: event.target,
    agent: named(event.grant.agent),
    parent: event.turn,
    depth: event.grant.depth,
    tool: event.tool,
    text: event.task,
    deadline: event.deadline,
    opened: event,
  })
  const caller = event.turn === null ? undefined : picture.bars.get(event.turn)
  if (caller !== undefined && !event.background)
    caller.segments.push({
      kind: 'call',
      name: named(event.grant.agent),
      from: at,
      to: null,
      ok: true,
      key: event.call,
    })
}

function refuseCall(
  picture: FlowPicture,
  event: EventOf<'call.refused'>,
  at: number,
  named: (agent: string) => string,
): void {
  const caller = event.turn === null ? undefined : picture.bars.get(event.turn)
  picture.bars.set(event.call, {
    ...emptyBar(event.call, event, at),
    call: event.call,
    agent: named(event.agent),
    parent: event.turn,
    depth: (caller?.depth ?? 0) + 1,
    tool: event.tool,
    text: event.task,
    endedAt: at,
    outcome: 'refused',
    refused: event,
  })
}

type Inner = { [T in EventType]?: (bar: Bar, event: EventOf<T>, at: number, picture: FlowPicture) => void }

const begin = (bar: Bar, kind: Segment['kind'], name: string, key: string, at: number): void =>
  void bar.segments.push({ kind, name, from: at, to: null, ok: true, key })

const inner: Inner = {
  'turn.started'(bar, event, at) {
    bar.startedAt ??= at
    bar.deadline ??= event.deadline
  },
  'turn.cancelled'(bar) {
    bar.stopping = true
  },
  'turn.ended'(bar, event, at) {
    Object.assign(bar, {
      endedAt: at,
      outcome: bar.ended?.outcome ?? event.outcome,
      error: event.error,
      turnEnded: event,
    })
    closeAll(bar, at)
  },
  'step.started': (bar, event, at) => begin(bar, 'tool', event.name, event.key, at),
  'step.ended': (bar, event, at) => endStep(bar, event, at),
  'call.ended': (bar, event, _at, picture) => endCall(picture, bar, event),
  'wait.started': (bar, event, at) => begin(bar, 'wait', event.target, event.target, at),
  'wait.ended': (bar, event, at) => close(bar, 'wait', event.target, at),
  'question.asked': (bar, event, at) => begin(bar, 'question', event.tool, event.question, at),
  'question.answered': (bar, event, at) => close(bar, 'question', event.question, at),
}

function endStep(bar: Bar, event: EventOf<'step.ended'>, at: number): void {
  if (event.usage !== null) bar.tokens += event.usage.input + event.usage.output
  if (event.kind === 'tool') {
    const announced = bar.segments.findLast(
      (one) => one.kind === 'tool' && one.key === event.key && one.to === null,
    )
    if (announced !== undefined) return void Object.assign(announced, { to: at, ok: event.ok })
    return void bar.segments.push({
      kind: 'tool',
      name: event.name,
      from: event.startedAt,
      to: at,
      ok: event.ok,
      key: event.key,
    })
  }
  const text =
    event.output !== null && typeof event.output === 'object' && !Array.isArray(event.output)
      ? event.output['text']
      : null
  if (typeof text === 'string' && text !== '') bar.said.push(text)
  bar.segments.push({
    kind: 'model',
    name: event.name,
    from: event.startedAt,
    to: at,
    ok: event.ok,
    key: event.key,
  })
}

/**
 * On the caller's timeline: its wait is over, and what it called has its outcome, though it may need a moment
 * to stop.
 */
function endCall(picture: FlowPicture, caller: Bar, event: EventOf<'call.ended'>): void {
  close(caller, 'call', event.call, event.endedAt)
  const bar = picture.bars.get(`turn_${event.call.slice(5)}`)
  if (bar !== undefined)
    Object.assign(bar, {
      ended: event,
      outcome: event.outcome,
      endedAt: bar.endedAt ?? event.endedAt,
      error: event.errors[0] ?? null,
    })
}

function close(bar: Bar, kind: Segment['kind'], key: string, at: number): void {
  const open = bar.segments.findLast((one) => one.kind === kind && one.key === key && one.to === null)
  if (open !== undefined) open.to = at
}

const togetherMs = 20

/**
 * Steps that were recorded in one commit have one end. Where the next began later, the one before had ended
 * by then; those that began together ran side by side.
 */
function cutSteps({ segments }: Bar): void {
  const steps = segments.filter(({ kind }) => kind === 'model' || kind === 'tool')
  for (const [index, step] of steps.entries()) {
    const next = steps[index + 1]
    if (next !== undefined && step.to !== null && next.from - step.from > togetherMs && step.to > next.from)
      step.to = next.from
  }
}

function closeAll(bar: Bar, at: number): void {
  for (const segment of bar.segments) segment.to ??= at
}

/** Callers before those they called, in the order in which they were opened. */
export function barsInOrder({ bars }: FlowPicture): { bar: Bar; level: number }[] {
  const below = new Map<string | null, Bar[]>()
  for (const bar of bars.values()) {
    const parent = bar.parent !== null && bars.has(bar.parent) ? bar.parent : null
    below.set(parent, [...(below.get(parent) ?? []), bar])
  }
  const rows: { bar: Bar; level: number }[] = []
  const add = (parent: string | null, level: number): void => {
    for (const bar of below.get(parent) ?? []) {
      rows.push({ bar, level })
      if (bar.id !== parent) add(bar.id, level + 1)
    }
  }
  add(null, 0)
  return rows
}
