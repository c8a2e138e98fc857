import type { StreamedEvent } from '../../../src/wire/log.ts'
import type { Event, EventOf, EventType, OpeningMessage } from '../../../src/model/event.ts'
import { addCost, noCost, sumCosts } from '../live/session-cost.ts'
import { opensTurn } from '../../../src/model/opening.ts'
import { createBar, type Bar, type FlowPicture, type Segment } from './flow-picture.ts'

/** `named` returns the name of an agent for people. */
export function foldFlow(
  events: readonly StreamedEvent[],
  count = events.length,
  named: (agent: string) => string = (agent) => agent,
): FlowPicture {
  const bars = new Map<string, Bar>()
  const picture: FlowPicture = {
    bars,
    root: null,
    from: 0,
    to: 0,
    tokens: 0,
    tokensMax: null,
    cost: noCost,
    nanoUsdMax: null,
    open: 0,
  }
  for (let index = 0; index < count; index += 1) {
    const streamed = events[index]
    if (streamed === undefined) break
    if (index === 0) picture.from = streamed.at
    picture.to = Math.max(picture.to, streamed.at)
    applyEvent(picture, streamed.event, streamed.at, named)
  }
  for (const bar of bars.values()) {
    picture.tokens += bar.tokens
    picture.cost = sumCosts(picture.cost, bar.cost)
    cutSteps(bar)
    if (bar.endedAt === null) picture.open += 1
  }
  return picture
}

function applyEvent(picture: FlowPicture, event: Event, at: number, named: (agent: string) => string): void {
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
    ...createBar(turn, event, at),
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
  picture.nanoUsdMax = event.grant.nanoUsdMax ?? null
}

function openCall(
  picture: FlowPicture,
  event: EventOf<'call.opened'>,
  at: number,
  named: (agent: string) => string,
): void {
  const id = `turn_${event.call.slice(5)}`
  picture.bars.set(id, {
    ...createBar(id, event, at),
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
    ...createBar(event.call, event, at),
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

const beginSegment = (bar: Bar, kind: Segment['kind'], name: string, key: string, at: number): void =>
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
      // A request that was cut off is no step, but it was paid for.
      tokens: Math.max(bar.tokens, event.tokensUsed),
    })
    closeSegments(bar, at)
  },
  'step.started': (bar, event, at) => beginSegment(bar, 'tool', event.name, event.key, at),
  'step.ended': (bar, event, at) => endStep(bar, event, at),
  'call.ended': (bar, event, _at, picture) => endCall(picture, bar, event),
  'wait.started': (bar, event, at) => beginSegment(bar, 'wait', event.target, event.target, at),
  'wait.ended': (bar, event, at) => closeSegment(bar, 'wait', event.target, at),
  'question.asked': (bar, event, at) => beginSegment(bar, 'question', event.tool, event.question, at),
  'question.answered': (bar, event, at) => closeSegment(bar, 'question', event.question, at),
}

function endStep(bar: Bar, event: EventOf<'step.ended'>, at: number): void {
  if (event.usage !== null) {
    bar.tokens += event.usage.input + event.usage.output
    bar.cost = addCost(bar.cost, event.usage)
  }
  if (event.kind === 'move') return
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

/** The wait of the caller is over and the callee has its outcome, though it may take a moment to stop. */
function endCall(picture: FlowPicture, caller: Bar, event: EventOf<'call.ended'>): void {
  closeSegment(caller, 'call', event.call, event.endedAt)
  const bar = picture.bars.get(`turn_${event.call.slice(5)}`)
  if (bar !== undefined)
    Object.assign(bar, {
      ended: event,
      outcome: event.outcome,
      endedAt: bar.endedAt ?? event.endedAt,
      error: event.errors[0] ?? null,
    })
}

function closeSegment(bar: Bar, kind: Segment['kind'], key: string, at: number): void {
  const open = bar.segments.findLast((one) => one.kind === kind && one.key === key && one.to === null)
  if (open !== undefined) open.to = at
}

const togetherMs = 20

/**
 * Steps that were recorded in one commit have the same end. If the next one began later, the one before had
 * ended by then; steps that began together ran in parallel.
 */
function cutSteps({ segments }: Bar): void {
  const steps = segments.filter(({ kind }) => kind === 'model' || kind === 'tool')
  for (const [index, step] of steps.entries()) {
    const next = steps[index + 1]
    if (next !== undefined && step.to !== null && next.from - step.from > togetherMs && step.to > next.from)
      step.to = next.from
  }
}

function closeSegments(bar: Bar, at: number): void {
  for (const segment of bar.segments) segment.to ??= at
}
