/** How the turn of a client answers: the first try when its end is durable, and a retry with the same id alike. */
import type { EventOf, ToolAsk } from '../../model/event.ts'
import type { TurnRow } from '../../model/facts.ts'
import { type TurnId } from '../../model/id.ts'
import { canonical, isRecord, textAt } from '../../model/json.ts'
import { type Refusal } from '../../model/refusal.ts'
import { isSameButMarks } from '../../model/secret-mark.ts'
import { renderBegun, renderResult } from '../calls/sub-agent.ts'
import { storeRefusal } from '../kernel/faults.ts'
import { listen } from '../kernel/runtime.ts'
import { readEnding, toResult } from '../kernel/waiting.ts'
import type { Runtime } from './runtime.ts'
import type { ToolAnswer } from '../kernel/ports.ts'
import { cancel } from '../turns/ending.ts'
import { turnEnding } from '../turns/turn-ending.ts'

/**
 * A retry finds the turn of the first try, and waits where it still runs, here or in a process that has died
 * meanwhile: until the answer of the first try is durable (R2), or could not be recorded.
 */
export async function answerAgain(
  runtime: Runtime,
  turn: TurnId,
  asked: ToolAsk,
  signal: AbortSignal,
  unrecorded: Promise<never>,
): Promise<ToolAnswer | Refusal> {
  const row = await runtime.store.turn(turn)
  const opened = row === null ? undefined : (await runtime.store.event(row.openedSeq))?.event
  if (row === null || opened?.type !== 'message.sent')
    throw new Error(`the input of ${turn} is not in the log`)
  if (!isSameAsk(opened, asked)) return { code: 'message_already_sent', message: opened.message }
  const begins = untilBegun(runtime, turn, asked)
  try {
    const opening = await findFirstCall(runtime, row)
    if (opening?.background === true) return answerBegun(opening, asked)
    const ended = endOfTurn(runtime, turn, asked, () => null)
    return await untilGone(runtime, turn, signal, Promise.race([begins.answer, ended, unrecorded]))
  } finally {
    begins.forget()
  }
}

/** Resolves when the turn opens a call in the background, after the commit that opened it. */
function untilBegun(
  { store }: Runtime,
  turn: TurnId,
  asked: ToolAsk,
): { answer: Promise<ToolAnswer>; forget: () => void } {
  let forget = (): void => undefined
  const answer = new Promise<ToolAnswer>((resolve) => {
    forget = store.onHint((hints) => {
      for (const hint of hints)
        for (const event of hint.kind === 'appended' ? (hint.events ?? []) : [])
          if (event.type === 'call.opened' && event.turn === turn && event.background)
            resolve(answerBegun(event, asked))
    })
  })
  return { answer, forget }
}

/**
 * Rejects when the turn could not be recorded any more, in any of its activations: its clients learn it now,
 * and not when the disk works again.
 */
export function untilUnrecorded(
  { unrecordedWaiters }: Runtime,
  turn: TurnId,
): { fault: Promise<never>; forget: () => void } {
  let forget = (): void => undefined
  const fault = new Promise<never>((_resolve, reject) => {
    forget = listen(unrecordedWaiters, turn, (reason: unknown) => {
      if (storeRefusal(reason) !== null) reject(reason)
    })
  })
  // A client that was answered before does not look at it any more.
  fault.catch(() => undefined)
  return { fault, forget }
}

/**
 * Where secrets were taken out of the record, what was given may differ there. Version 0.1.0 recorded only
 * the beginning of it.
 */
const isSameAsk = ({ text, use }: EventOf<'message.sent'>, asked: ToolAsk): boolean =>
  isSameButMarks(text, describeAsk(asked)) &&
  (use === undefined || isSameButMarks(canonical(use), canonical(asked)))

const callsPerPage = 100

/** What the turn opened first. Other turns of its session may have opened many since. */
async function findFirstCall(
  { store }: Runtime,
  { id, session, openedSeq, endedSeq }: TurnRow,
): Promise<EventOf<'call.opened'> | null> {
  const filter = { sessions: [session], types: ['call.opened' as const] }
  for (let [after, more] = [openedSeq - 1, true]; more && after < (endedSeq ?? Infinity);) {
    const page = await store.read(after, filter, callsPerPage)
    for (const { event } of page.events) if (event.turn === id && event.type === 'call.opened') return event
    ;[after, more] = [page.next, page.more]
  }
  return null
}

/** A call in the background was answered when it began, and a second try is answered as the first was. */
const answerBegun = ({ grant, call, notes = [] }: EventOf<'call.opened'>, { input }: ToolAsk): ToolAnswer =>
  renderBegun(textAt(input, 'agent_name') || grant.agent, { call, notes }, true)

/**
 * A client that goes away has cancelled. Where several wait for the same turn, the last one that goes has.
 */
export async function untilGone<T>(
  runtime: Runtime,
  turn: TurnId,
  signal: AbortSignal,
  answer: Promise<T>,
): Promise<T> {
  let waits = true
  runtime.attached.set(turn, (runtime.attached.get(turn) ?? 0) + 1)
  const detach = (): number => {
    const left = waits ? (runtime.attached.get(turn) ?? 1) - 1 : 1
    waits = false
    if (left > 0) runtime.attached.set(turn, left)
    else runtime.attached.delete(turn)
    return left
  }
  const cancelTurn = (): void => {
    if (detach() === 0) void cancel(runtime, turn, 'cancelled', 'the client went away').catch(runtime.report)
  }
  if (signal.aborted) cancelTurn()
  else signal.addEventListener('abort', cancelTurn, { once: true })
  try {
    return await answer
  } finally {
    signal.removeEventListener('abort', cancelTurn)
    if (waits) detach()
  }
}

/** What the client asked for, short, for people. */
export function describeAsk({ tool, input }: ToolAsk): string {
  const fields = isRecord(input) ? input : {}
  const target = fields['agent_name'] ?? fields['agent_id'] ?? fields['sessionId'] ?? ''
  const said = fields['task'] ?? fields['message'] ?? fields['initialMessage'] ?? ''
  const whom = typeof target === 'string' && target !== '' ? ` ${target}` : ''
  const what = typeof said === 'string' && said !== '' ? `: ${said.slice(0, 500).toWellFormed()}` : ''
  return `${tool}${whom}${what}`
}

/** R2: the first try is answered when the turn's end is durable. */
export async function endOfTurn(
  runtime: Runtime,
  turn: TurnId,
  asked: ToolAsk,
  said: () => ToolAnswer | null,
): Promise<ToolAnswer> {
  const ended = await turnEnding(runtime, turn)
  return ended.outcome === 'completed'
    ? (said() ?? (JSON.parse(ended.output) as ToolAnswer))
    : stoppedAnswer(runtime, turn, asked, ended)
}

/**
 * A turn that was stopped says so. What it called has ended with it (R3), and the client is told that end, by the
 * id under which the record has it.
 */
async function stoppedAnswer(
  runtime: Runtime,
  turn: TurnId,
  { tool }: ToolAsk,
  { outcome, error }: EventOf<'turn.ended'>,
): Promise<ToolAnswer> {
  const row = await runtime.store.turn(turn)
  const opened = row === null ? null : await findFirstCall(runtime, row)
  const called = opened === null ? null : await readEnding(runtime, opened.call)
  if (opened !== null && called !== null && tool === 'sub_agent')
    return renderResult(toResult(called.ended, opened), runtime.limits.resultShownTokens, runtime.count)
  const message = error ?? `${outcome}: the request was stopped`
  return {
    ok: false,
    value: { error: { code: outcome, message, ...(opened !== null && { call_id: opened.call }) } },
  }
}
