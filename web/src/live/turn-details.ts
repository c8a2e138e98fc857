import type { StreamedEvent } from '../../../src/wire/log.ts'
import type { Event, EventOf, Outcome } from '../../../src/model/event.ts'
import type { Json } from '../../../src/model/json.ts'
import type { Refusal } from '../../../src/model/refusal.ts'

export type DetailItem =
  | { kind: 'said'; key: string; at: number; model: string; text: string }
  | {
      kind: 'tool'
      key: string
      at: number
      name: string
      input: Json
      ok: boolean | null
      output: Json
      startedAt: number
      endedAt: number | null
    }
  | {
      kind: 'call'
      key: string
      at: number
      call: string
      tool: string
      agent: string
      target: string
      task: string
      input: Json
      outcome: Outcome | null
      output: string
      errors: string[]
      tokensUsed: number
      endedAt: number | null
    }
  | {
      kind: 'refused'
      key: string
      at: number
      call: string
      tool: string
      agent: string
      task: string
      refusal: Refusal
    }
  | { kind: 'steered'; key: string; at: number; text: string }
  | { kind: 'question'; key: string; at: number; tool: string; answer: string | null; by: string }

export type TurnDetail = {
  turn: string
  asked: string | null
  items: DetailItem[]
  output: string | null
  ended: boolean
  chars: number
}

export type Details = {
  get(turn: string): TurnDetail | undefined
  take(streamed: StreamedEvent): void
  put(detail: TurnDetail): void
  clear(): void
}

const endedMax = 400
const charsMax = 24_000_000

export function createDetails(): Details {
  const kept = new Map<string, TurnDetail>()
  let chars = 0
  const prune = (): void => {
    const endedCount = [...kept.values()].filter((detail) => detail.ended).length
    let over = endedCount - endedMax
    for (const [id, detail] of kept) {
      if (over <= 0 && chars <= charsMax) return
      if (!detail.ended) continue
      kept.delete(id)
      chars -= detail.chars
      over -= 1
    }
  }
  const ensureDetail = (turn: string): TurnDetail => {
    const known = kept.get(turn)
    if (known !== undefined) return known
    const made = createDetail(turn)
    kept.set(turn, made)
    return made
  }
  return {
    get: (turn) => kept.get(turn),
    take(streamed) {
      const about = findTurns(streamed.event)
      for (const turn of about) {
        const detail = ensureDetail(turn)
        const before = detail.chars
        addToDetail(detail, streamed)
        chars += detail.chars - before
        if (detail.ended) prune()
      }
    },
    put(detail) {
      chars += detail.chars - (kept.get(detail.turn)?.chars ?? 0)
      kept.set(detail.turn, detail)
      prune()
    },
    clear() {
      kept.clear()
      chars = 0
    },
  }
}

export const createDetail = (turn: string): TurnDetail => ({
  turn,
  asked: null,
  items: [],
  output: null,
  ended: false,
  chars: 0,
})

/** A call belongs to the turn that made it, and starts the turn that serves it. */
export const findTurns = (event: Event): string[] => {
  const own = event.turn === null ? [] : [event.turn]
  return event.type === 'call.opened' ? [...own, `turn_${event.call.slice(5)}`] : own
}

export function addToDetail(detail: TurnDetail, { at, event }: StreamedEvent): void {
  if (event.type === 'message.sent' || event.type === 'message.delivered') detail.asked = event.text
  else if (
    event.type === 'call.opened' &&
    detail.turn === `turn_${event.call.slice(5)}` &&
    detail.turn !== event.turn
  )
    detail.asked = event.task
  else if (event.type === 'call.opened') detail.items.push(createCallItem(event, at))
  else if (event.type === 'call.ended') endCall(detail, event)
  else if (event.type === 'call.refused')
    detail.items.push({
      kind: 'refused',
      key: event.key,
      at,
      call: event.call,
      tool: event.tool,
      agent: event.agent,
      task: event.task,
      refusal: event.refusal,
    })
  else if (event.type === 'step.started')
    detail.items.push({
      kind: 'tool',
      key: event.key,
      at,
      name: event.name,
      input: event.input,
      ok: null,
      output: null,
      startedAt: at,
      endedAt: null,
    })
  else if (event.type === 'step.ended') endStep(detail, event, at)
  else if (event.type === 'question.asked')
    detail.items.push({
      kind: 'question',
      key: event.question,
      at,
      tool: event.tool,
      answer: null,
      by: '',
    })
  else if (event.type === 'question.answered') answerQuestion(detail, event)
  else if (event.type === 'call.steered')
    detail.items.push({ kind: 'steered', key: `${event.call} ${at}`, at, text: event.text })
  else if (event.type === 'turn.ended') Object.assign(detail, { output: event.output, ended: true })
  detail.chars += estimateSize(event)
}

/** Estimates the memory that an event takes; only texts are large. */
function estimateSize(event: Event): number {
  if (event.type === 'step.ended' || event.type === 'step.started')
    return 200 + measureJson(event.input) + (event.type === 'step.ended' ? measureJson(event.output) : 0)
  if (event.type === 'turn.ended' || event.type === 'call.ended') return event.output.length
  if (event.type === 'call.opened') return event.task.length
  return event.type === 'message.sent' ? event.text.length : 100
}

function measureJson(value: Json): number {
  if (typeof value === 'string') return value.length
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + measureJson(one), 8)
  return value !== null && typeof value === 'object'
    ? Object.values(value).reduce<number>((sum, one) => sum + measureJson(one), 8)
    : 8
}

const createCallItem = (event: EventOf<'call.opened'>, at: number): DetailItem => ({
  kind: 'call',
  key: event.key,
  at,
  call: event.call,
  tool: event.tool,
  agent: event.grant.agent,
  target: event.target,
  task: event.task,
  input: event.requested,
  outcome: null,
  output: '',
  errors: [],
  tokensUsed: 0,
  endedAt: null,
})

function endCall(detail: TurnDetail, event: EventOf<'call.ended'>): void {
  const item = detail.items.find((one) => one.kind === 'call' && one.call === event.call)
  if (item !== undefined)
    Object.assign(item, {
      outcome: event.outcome,
      output: event.output,
      errors: event.errors,
      tokensUsed: event.tokensUsed,
      endedAt: event.endedAt,
    })
}

function answerQuestion(detail: TurnDetail, event: EventOf<'question.answered'>): void {
  const item = detail.items.find((one) => one.kind === 'question' && one.key === event.question)
  if (item !== undefined) Object.assign(item, { answer: event.answer, by: event.by })
}

function endStep(detail: TurnDetail, event: EventOf<'step.ended'>, at: number): void {
  if (event.kind !== 'tool') {
    const text = extractText(event.output)
    if (text !== '') detail.items.push({ kind: 'said', key: event.key, at, model: event.name, text })
    return
  }
  const announced = detail.items.findLast((one) => one.kind === 'tool' && one.key === event.key)
  const ended = { ok: event.ok, output: event.output, endedAt: at, startedAt: event.startedAt }
  if (announced === undefined)
    detail.items.push({ kind: 'tool', key: event.key, at, name: event.name, input: event.input, ...ended })
  else Object.assign(announced, ended, event.input === null ? {} : { input: event.input })
}

/** The text of a model in one step. */
export function extractText(output: Json): string {
  if (typeof output === 'string') return output
  const text = output !== null && typeof output === 'object' && !Array.isArray(output) ? output['text'] : ''
  return typeof text === 'string' ? text : ''
}
