/** How the turn of a client answers: the first try when its end is durable, and a retry with the same id alike. */
import type { EventOf, ToolAsk } from '../../model/event.ts'
import type { TurnRow } from '../../model/facts.ts'
import { type TurnId } from '../../model/id.ts'
import { canonical } from '../../model/json.ts'
import { type Refusal } from '../../model/refusal.ts'
import { isSameButMarks } from '../../model/secret-mark.ts'
import type { Runtime } from '../kernel/runtime.ts'
import type { ToolAnswer } from '../kernel/ports.ts'
import { cancel } from '../turns/ending.ts'
import { turnEnding } from '../turns/turn-ending.ts'

/**
 * A retry finds the turn of the first try, and waits for its end where it still runs, here or in a process
 * that has died meanwhile.
 */
export async function answerAgain(
  runtime: Runtime,
  turn: TurnId,
  asked: ToolAsk,
  signal: AbortSignal,
): Promise<ToolAnswer | Refusal> {
  const row = await runtime.store.turn(turn)
  const opened = row === null ? undefined : (await runtime.store.event(row.openedSeq))?.event
  if (row === null || opened?.type !== 'message.sent')
    throw new Error(`the input of ${turn} is not in the log`)
  if (!isSameAsk(opened, asked)) return { code: 'message_already_sent', message: opened.message }
  const begun = await begunIn(runtime, row, asked)
  if (begun !== null) return begun
  return untilGone(
    runtime,
    turn,
    signal,
    endOfTurn(runtime, turn, () => null),
  )
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
async function begunIn(runtime: Runtime, row: TurnRow, { input }: ToolAsk): Promise<ToolAnswer | null> {
  const opened = await findFirstCall(runtime, row)
  if (opened === null || !opened.background) return null
  const named =
    input !== null && typeof input === 'object' && !Array.isArray(input) ? input['agent_name'] : undefined
  return {
    ok: true,
    value: {
      agent_name: named ?? opened.grant.agent,
      success: false,
      output: '',
      tool_calls: [],
      tokens_used: 0,
      duration_seconds: 0,
      errors: [],
      call_id: opened.call,
      outcome: null,
      truncated: false,
    },
  }
}
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
  const fields = input !== null && typeof input === 'object' && !Array.isArray(input) ? input : {}
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
  said: () => ToolAnswer | null,
): Promise<ToolAnswer> {
  const ended = await turnEnding(runtime, turn)
  return ended.outcome === 'completed'
    ? (said() ?? (JSON.parse(ended.output) as ToolAnswer))
    : stoppedAnswer(ended)
}

const stoppedAnswer = ({ outcome, error }: EventOf<'turn.ended'>): ToolAnswer => ({
  ok: false,
  value: { error: { code: outcome, message: error ?? `${outcome}: the request was stopped` } },
})
