/** One root request as its sender holds it: awaited for its result, iterated for its events. */
import type { EventOf, Outcome, StoredEvent } from '../model/event.ts'
import { turnOf, type FlowId, type SessionId, type TurnId } from '../model/id.ts'
import { explain, type Refusal, isRefusal } from '../model/refusal.ts'
import { cancel } from './ending.ts'
import { storeRefusal } from './faults.ts'
import { listen, type Line } from './line.ts'
import { send, type SendRequest, type Sent } from './send.ts'

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

export function startRun(line: Line, request: SendRequest): Run {
  const startedAt = line.clock.elapsed()
  const after = line.store.lastSeq()
  const accepted = send(line, request).catch((fault: unknown): Refusal => {
    const refusal = storeRefusal(fault)
    if (refusal === null) throw fault
    return refusal
  })
  const result = accepted.then((sent) => {
    if (isRefusal(sent)) return refused(sent)
    // A turn that runs keeps its own time; for one that waits its turn nobody else does.
    if (sent.status === 'queued' && request.timeoutMs !== undefined)
      line.alarm.after(
        startedAt + request.timeoutMs - line.clock.elapsed(),
        () => void cancel(line, sent.turn, 'timed_out', 'deadline').catch(line.report),
      )
    return resultOf(line, sent, startedAt)
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
      return isRefusal(sent) ? false : cancel(line, sent.turn, 'cancelled', cause)
    },
    async *[Symbol.asyncIterator]() {
      const sent = await accepted
      if (!isRefusal(sent)) yield* follow(line, sent.turn, after)
    },
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

async function resultOf(line: Line, sent: Sent, startedAt: number): Promise<RunResult> {
  const ended = await turnEnding(line, sent.turn)
  return {
    success: ended.outcome === 'completed',
    outcome: ended.outcome,
    output: ended.output,
    error: ended.error,
    refusal: null,
    tokensUsed: ended.tokensUsed + ended.tokensBelow,
    durationMs: line.clock.elapsed() - startedAt,
    toolCalls: ended.toolCalls,
    session: sent.session,
    flow: sent.flow,
  }
}

export async function turnEnding(line: Line, turn: TurnId): Promise<EventOf<'turn.ended'>> {
  let forget = (): void => undefined
  const ending = new Promise<EventOf<'turn.ended'>>((resolve, reject) => {
    const deaf = listen(line.turnWaiters, turn, resolve)
    const closed = (): void =>
      reject(
        new Error(
          'Tieline was closed before the run had ended; it goes on when its data directory is opened again',
        ),
      )
    line.atStop.add(closed)
    forget = () => {
      deaf()
      line.atStop.delete(closed)
    }
  })
  try {
    // A turn that does not run here may have ended before anybody listened.
    const row = line.running.has(turn) ? null : await line.store.turn(turn)
    const stored =
      row?.state === 'ended' && row.endedSeq !== null ? await line.store.event(row.endedSeq) : null
    return stored?.event.type === 'turn.ended' ? stored.event : await ending
  } finally {
    forget()
  }
}

const pageSize = 256
const lookAgainMs = 1000

/** The events of everything that one root turn caused, in order, until it has ended. */
export async function* follow(line: Line, root: TurnId, after: number): AsyncGenerator<StoredEvent> {
  const turns = new Set<TurnId>([root])
  let wake = (): void => undefined
  let news = new Promise<void>((resolve) => (wake = resolve))
  const deaf = line.store.onHint(() => wake())
  try {
    for (let cursor = after; ;) {
      const page = await line.store.read(cursor, {}, pageSize)
      cursor = page.next
      for (const stored of page.events) {
        if (stored.event.turn === null || !turns.has(stored.event.turn)) continue
        if (stored.event.type === 'call.opened') turns.add(turnOf(stored.event.call))
        yield stored
        if (stored.event.type === 'turn.ended' && stored.event.turn === root) return
      }
      if (page.events.length === pageSize) continue
      // A hint may be lost: then looking finds the rest.
      await Promise.race([news, line.clock.sleep(lookAgainMs, line.stopping.signal)])
      news = new Promise<void>((resolve) => (wake = resolve))
    }
  } finally {
    deaf()
  }
}
