/** All events of one flow, in order: those of the past read once from the log, new ones as they come. */
import { useEffect, useState } from 'react'
import type { StreamedEvent } from '../../../src/client/answers.ts'
import { useLook } from '../live/use-live.ts'
import type { Live } from '../live/live.ts'
import { readLog } from '../live/read-log.ts'
import { flowFilter } from './flow-filter.ts'

export type FlowEvents = { readonly topic: string; events(): readonly StreamedEvent[]; state(): 'reading' | 'there' | 'unknown'; problem(): unknown; stop(): void }

export function openFlow(live: Live, id: string): FlowEvents {
  const topic = `flow-events:${id}`
  const stopped = new AbortController()
  const belongs = flowFilter(id)
  const events: StreamedEvent[] = []
  const waiting: StreamedEvent[] = []
  let state: ReturnType<FlowEvents['state']> = 'reading'
  let problem: unknown = null
  const take = (streamed: StreamedEvent): void => {
    if (belongs(streamed)) events.push(streamed)
  }
  const deaf = live.onEvent((streamed) => {
    if (state === 'reading') return void waiting.push(streamed)
    const before = events.length
    take(streamed)
    if (events.length > before) live.topics.touch(topic)
  })
  const read = async (): Promise<void> => {
    const until = live.lastSeq()
    const piece = await pieceOf(live, id, stopped.signal)
    if (piece !== null) await readLog(live.client, { ...piece, until: piece.until ?? until }, take, stopped.signal)
    for (const streamed of waiting.splice(0)) if (Number(streamed.seq) > until) take(streamed)
    state = piece === null && events.length === 0 ? 'unknown' : 'there'
  }
  read().catch((error: unknown) => {
    if (!stopped.signal.aborted) problem = error
  }).finally(() => live.topics.touch(topic))
  return {
    topic, events: () => events, state: () => state, problem: () => problem,
    stop() {
      deaf()
      stopped.abort()
    },
  }
}

/** Where its events lie. The server knows the sessions of a flow that is older than what the page has read. */
async function pieceOf(live: Live, id: string, signal: AbortSignal): Promise<{ after: number; until: number | null; sessions: string[] } | null> {
  const fact = live.ledger.flows.get(id)
  if (fact !== undefined) {
    const turns = [...fact.turns].map((turn) => live.ledger.turns.get(turn)?.session).filter((session) => session !== undefined)
    return { after: Math.max(0, fact.firstSeq - 2), until: fact.lastSeq, sessions: [...new Set(turns)] }
  }
  const flow = await live.client.flow(id, { signal }).catch((error: { status?: number }) => {
    if (error.status === 404) return null
    throw error
  })
  return flow === null ? null : { after: 0, until: null, sessions: [...new Set([flow.root.session, ...flow.calls.flatMap(({ targetSession }) => (targetSession === null ? [] : [targetSession]))])] }
}

/** Opened once the page knows the newest part of the log, which says where the flow lies. */
export function useFlowEvents(id: string): { events: readonly StreamedEvent[]; state: 'reading' | 'there' | 'unknown'; problem: unknown } {
  const live = useLook('connection')
  useLook('flows')
  const isReady = live.loaded().log
  const [flow, setFlow] = useState<FlowEvents | null>(null)
  useEffect(() => {
    if (!isReady) return
    const opened = openFlow(live, id)
    setFlow(opened)
    return () => opened.stop()
  }, [live, id, isReady])
  useLook(`flow-events:${id}`)
  return { events: flow?.events() ?? [], state: flow?.state() ?? 'reading', problem: flow?.problem() ?? null }
}
