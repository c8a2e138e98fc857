/** One root request as its sender holds it: awaited for its result, iterated for its events. */
import type { Outcome, StoredEvent } from '../../model/event.ts'
import { toTurnId, type FlowId, type SessionId, type TurnId } from '../../model/id.ts'
import { explain, type Refusal, isRefusal } from '../../model/refusal.ts'
import { cancel } from '../turns/ending.ts'
import { storeRefusal } from '../kernel/faults.ts'
import type { Runtime } from './runtime.ts'
import { turnEnding } from '../turns/turn-ending.ts'
import { type SendRequest } from '../mail/send-facts.ts'
import { send, type Sent } from '../mail/send.ts'

export type RunResult = {
  success: boolean
  outcome: Outcome
  output: string
  error: string | null
  refusal: Refusal | null
  tokensUsed: number
  durationMs: number
  toolCalls: string[]
  session: SessionId | null
  flow: FlowId | null
}

/** Await it for the result; iterate it for the events of its flow, which end with the result. */
export type Run = Pick<Promise<RunResult>, 'then' | 'catch' | 'finally'> &
  AsyncIterable<StoredEvent> & {
    /** Resolves when the request is recorded, or to the refusal. */
    readonly accepted: Promise<Sent | Refusal>
    cancel(cause?: string): Promise<boolean>
  }

export function startRun(runtime: Runtime, request: SendRequest): Run {
  const startedAt = runtime.clock.elapsed()
  const after = runtime.store.lastSeq()
  const accepted = begin(runtime, request)
  const result = accepted.then((sent) => {
    if (isRefusal(sent)) return refused(sent)
    // A turn that runs keeps its own time; for one that waits its turn nobody else does.
    if (sent.status === 'queued' && request.timeoutMs !== undefined)
      runtime.alarm.after(
        startedAt + request.timeoutMs - runtime.clock.elapsed(),
        () => void cancel(runtime, sent.turn, 'timed_out', 'deadline').catch(runtime.report),
      )
    return awaitResult(runtime, sent, startedAt)
  })
  // Whoever only iterates has not asked for the result; a fault reaches those who await it.
  result.catch(() => undefined)
  return {
    accepted,
    // oxlint-disable-next-line unicorn/no-thenable -- a run is awaited for its result
    then: (yes, no) => result.then(yes, no),
    catch: (no) => result.catch(no),
    finally: (done) => result.finally(done),
    async cancel(cause = 'asked by the user') {
      const sent = await accepted
      return isRefusal(sent) ? false : cancel(runtime, sent.turn, 'cancelled', cause)
    },
    async *[Symbol.asyncIterator]() {
      const sent = await accepted
      if (!isRefusal(sent)) yield* follow(runtime, sent.turn, after)
    },
  }
}

async function begin(runtime: Runtime, request: SendRequest): Promise<Sent | Refusal> {
  const { signal } = runtime.stopping
  signal.throwIfAborted()
  try {
    return await send(runtime, request)
  } catch (fault) {
    const refusal = storeRefusal(fault)
    if (refusal === null) throw signal.aborted ? signal.reason : fault
    return refusal
  }
}

const refused = (refusal: Refusal): RunResult => ({
  success: false,
  outcome: 'refused',
  output: '',
  error: explain(refusal),
  refusal,
  tokensUsed: 0,
  durationMs: 0,
  toolCalls: [],
  session: null,
  flow: null,
})

async function awaitResult(runtime: Runtime, sent: Sent, startedAt: number): Promise<RunResult> {
  const ended = await turnEnding(runtime, sent.turn)
  return {
    success: ended.outcome === 'completed',
    outcome: ended.outcome,
    output: ended.output,
    error: ended.error,
    refusal: null,
    tokensUsed: ended.tokensUsed + ended.tokensBelow,
    durationMs: runtime.clock.elapsed() - startedAt,
    toolCalls: ended.toolCalls,
    session: sent.session,
    flow: sent.flow,
  }
}

const pageSize = 256
const lookAgainMs = 1000

/** The events of everything that one root turn caused, in order, until it has ended. */
export async function* follow(runtime: Runtime, root: TurnId, after: number): AsyncGenerator<StoredEvent> {
  const turns = new Set<TurnId>([root])
  let wake = (): void => undefined
  let news = new Promise<void>((resolve) => (wake = resolve))
  const unsubscribe = runtime.store.onHint(() => wake())
  try {
    for (let cursor = after; ;) {
      const page = await runtime.store.read(cursor, {}, pageSize)
      cursor = page.next
      for (const stored of page.events) {
        if (stored.event.turn === null || !turns.has(stored.event.turn)) continue
        if (stored.event.type === 'call.opened') turns.add(toTurnId(stored.event.call))
        yield stored
        if (stored.event.type === 'turn.ended' && stored.event.turn === root) return
      }
      if (page.more) continue
      // A hint may be lost: then looking finds the rest.
      await Promise.race([news, runtime.clock.sleep(lookAgainMs, runtime.stopping.signal)])
      news = new Promise<void>((resolve) => (wake = resolve))
    }
  } finally {
    unsubscribe()
  }
}
