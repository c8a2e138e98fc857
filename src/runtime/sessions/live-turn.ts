/**
 * A program that speaks for a live turn through a door: it keeps its place in the tree, may try again, and
 * cancels what it asked for when it goes.
 */
import type { ToolAsk } from '../../model/event.ts'
import { canonical } from '../../model/json.ts'
import type { Refusal } from '../../model/refusal.ts'
import { cancel } from '../turns/ending.ts'
import type { ToolUse } from './client-turn.ts'
import type { Runtime } from './runtime.ts'
import type { ToolAnswer } from '../kernel/ports.ts'
import { hashText } from '../kernel/recorded.ts'
import type { Running } from '../kernel/running.ts'
import { doAsked } from './client-driver.ts'

type Try = { asked: string; answer: Promise<ToolAnswer> }

/**
 * Tries with an id, while their turn lives: the second gets what the first gets, unless that could not be done.
 * After a crash the turn's own driver asks again.
 */
const tries = new WeakMap<Running, Map<string, Try>>()
const triesMax = 1000

export async function useInTurn(
  runtime: Runtime,
  running: Running,
  asked: ToolAsk,
  { id, signal }: ToolUse,
): Promise<ToolAnswer | Refusal> {
  if (id === null) return run(runtime, running, asked, signal)
  const known = tries.get(running) ?? new Map<string, Try>()
  tries.set(running, known)
  const what = hashText(canonical(asked))
  const before = known.get(id)
  if (before !== undefined)
    return before.asked === what ? before.answer : { code: 'message_already_sent', message: `msg_${id}` }
  const answer = run(runtime, running, asked, signal)
  if (known.size < triesMax) remember(known, id, { asked: what, answer })
  return answer
}

/** Until it breaks, or turns out to be of a client that has gone. */
function remember(known: Map<string, Try>, id: string, made: Try): void {
  known.set(id, made)
  const forget = (): void => void known.delete(id)
  made.answer.then((answer) => {
    if (answer === clientGone) forget()
  }, forget)
}

async function run(
  runtime: Runtime,
  running: Running,
  asked: ToolAsk,
  signal: AbortSignal,
): Promise<ToolAnswer> {
  let key = ''
  const cancelTurn = (): void => void endCalls(runtime, running, key).catch(runtime.report)
  if (signal.aborted) return clientGone
  signal.addEventListener('abort', cancelTurn, { once: true })
  try {
    // One of many waits until it may begin, and its client may be gone by then.
    const onKey = (own: string): void => {
      signal.throwIfAborted()
      key = own
    }
    return await doAsked(runtime, running, asked, { onKey })
  } catch (fault) {
    if (key === '' && signal.aborted) return clientGone
    throw fault
  } finally {
    signal.removeEventListener('abort', cancelTurn)
  }
}

const clientGone: ToolAnswer = {
  ok: false,
  value: { error: { code: 'cancelled', message: 'The client went away.' } },
}

const pendingMax = 1000

/** The calls of this step only, not of another that asks for the same: the turn itself goes on. */
async function endCalls(runtime: Runtime, running: Running, key: string): Promise<void> {
  for (const row of await runtime.store.turns({ callerTurn: running.row.id }, pendingMax)) {
    if (row.call?.key === key) await cancel(runtime, row.id, 'cancelled', 'the client went away')
  }
}
