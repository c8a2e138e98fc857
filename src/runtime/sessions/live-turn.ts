/**
 * A program that speaks for a live turn through a door: it keeps its place in the tree, may try again, and
 * cancels what it asked for when it goes.
 */
import type { ToolAsk } from '../../model/event.ts'
import { cancel } from '../turns/ending.ts'
import type { ToolUse } from './client-turn.ts'
import type { Runtime } from './runtime.ts'
import type { ToolAnswer } from '../kernel/ports.ts'
import type { Running } from '../kernel/running.ts'
import { doAsked } from './client-driver.ts'

/**
 * Tries with an id, while their turn lives: the second gets what the first gets. After a crash the turn's own
 * driver asks again.
 */
const tries = new WeakMap<Running, Map<string, Promise<ToolAnswer>>>()
const triesMax = 1000

export function useInTurn(
  runtime: Runtime,
  running: Running,
  asked: ToolAsk,
  use: ToolUse,
): Promise<ToolAnswer> {
  const known = tries.get(running) ?? new Map<string, Promise<ToolAnswer>>()
  tries.set(running, known)
  const before = use.id === null ? undefined : known.get(use.id)
  if (before !== undefined) return before
  const answer = run(runtime, running, asked, use.signal)
  if (use.id !== null && known.size < triesMax) known.set(use.id, answer)
  return answer
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
