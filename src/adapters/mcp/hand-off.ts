/**
 * Clients that end a tool call after a fixed time, whatever progress they are told of. A call that may take longer
 * is begun in the background for them, and waited for as long as they can: they get its result, or its id and what
 * to do next, and never a timeout.
 */
import { isCallId, toTurnId } from '../../model/id.ts'
import { isRecord, textAt, type Json } from '../../model/json.ts'
import { isRefusal, type Refusal } from '../../model/refusal.ts'
import type { Desk } from '../../runtime/desk/desk.ts'
import type { Clock, ToolAnswer } from '../../runtime/kernel/ports.ts'
import { table } from '../../model/table.ts'

/** By the name that a client gives itself: less than its own limit, so that the answer arrives in time. */
const limitsMs = table({ 'codex-mcp-client': 270_000 })

const sliceSeconds = 50

type Input = { [name: string]: Json }

/** Null where the client waits for as long as it hears of progress, or has asked for less time than it waits. */
export async function findHandOffMs(
  desk: Desk,
  program: string | null,
  tool: string,
  input: Input,
): Promise<number | null> {
  const limitMs = program === null ? undefined : limitsMs[program]
  if (limitMs === undefined || tool !== 'sub_agent' || input['background'] === true) return null
  const agent = await desk.agents.get(textAt(input, 'agent_name'))
  if (isRefusal(agent)) return null
  // Without a time of its own, a call to any agent may take as long as such a client waits, or longer.
  const seconds = input['timeout_seconds']
  const isShort = typeof seconds === 'number' && seconds * 1000 <= limitMs
  return isShort ? null : limitMs
}

type HandOff = {
  limitMs: number
  clock: Clock
  signal: AbortSignal
  /** The same asker without a key: that is the call's, and in a live turn another use with it is refused. */
  waiting: Desk
  /** Who may cancel the call: the token of a turn sees no session. */
  user: Desk
}

export async function useWithin(
  desk: Desk,
  input: Input,
  { limitMs, clock, signal, waiting, user }: HandOff,
): Promise<ToolAnswer | Refusal> {
  const end = clock.elapsed() + limitMs
  const begun = await desk.tools.use('sub_agent', { ...input, background: true })
  if (isRefusal(begun) || !isRecord(begun.value) || begun.value['outcome'] !== null) return begun
  const call = textAt(begun.value, 'call_id')
  // A client that cancels has cancelled the call, although it runs in the background.
  const cancel = (): void => void cancelCall(user, call).catch(() => undefined)
  if (signal.aborted) cancel()
  else signal.addEventListener('abort', cancel, { once: true })
  try {
    for (let left = limitMs; left > 0; left = end - clock.elapsed()) {
      const seconds = Math.min(sliceSeconds, left / 1000)
      const waited = await waiting.tools.use('wait_for_call', { call_id: call, timeout_seconds: seconds })
      if (isRefusal(waited) || !isRecord(waited.value) || waited.value['outcome'] !== null) return waited
    }
    return begun
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

/** That call alone, also while it waits behind what others asked of the same session. */
async function cancelCall(desk: Desk, call: string): Promise<void> {
  const record = await desk.calls.get(call)
  if (isRefusal(record) || record.targetSession === null || !isCallId(record.call)) return
  await desk.sessions.cancel(record.targetSession, { turn: toTurnId(record.call) })
}
