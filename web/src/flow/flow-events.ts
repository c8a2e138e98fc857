/** All events of one flow in order: past events are read from the server once, new ones arrive live. */
import { useEffect, useState } from 'react'
import type { FlowEvents as FlowPage, StreamedEvent } from '../../../src/wire/log.ts'
import { useLiveTopic } from '../live/use-live.ts'
import type { Live } from '../live/live.ts'
import { createFlowFilter } from './flow-filter.ts'

export type FlowEvents = {
  readonly topic: string
  events(): readonly StreamedEvent[]
  state(): 'reading' | 'there' | 'unknown'
  problem(): unknown
  stop(): void
}

export function openFlow(live: Live, id: string): FlowEvents {
  const topic = `flow-events:${id}`
  const stopped = new AbortController()
  const belongs = createFlowFilter(id)
  const events: StreamedEvent[] = []
  const waiting: StreamedEvent[] = []
  let state: ReturnType<FlowEvents['state']> = 'reading'
  let problem: unknown = null
  const take = (streamed: StreamedEvent): void => {
    if (belongs(streamed)) events.push(streamed)
  }
  const unsubscribe = live.onEvent((streamed) => {
    if (state === 'reading') return void waiting.push(streamed)
    const before = events.length
    take(streamed)
    if (events.length > before) live.topics.touch(topic)
  })
  const read = async (): Promise<void> => {
    let upTo = 0
    for (let after: string | null = '0'; after !== null;) {
      const page: FlowPage | null = await live.client
        .flowEvents(id, { after }, { signal: stopped.signal })
        .catch((error: { status?: number }) => {
          if (error.status === 404) return null
          throw error
        })
      page?.events.forEach(take)
      upTo = Math.max(upTo, Number(page?.upTo ?? 0))
      after = page?.next ?? null
    }
    // Events that arrived meanwhile may also be among those that were read.
    for (const streamed of waiting.splice(0)) if (Number(streamed.seq) > upTo) take(streamed)
    state = events.length === 0 ? 'unknown' : 'there'
  }
  read()
    .catch((error: unknown) => {
      if (!stopped.signal.aborted) problem = error
    })
    .finally(() => live.topics.touch(topic))
  return {
    topic,
    events: () => events,
    state: () => state,
    problem: () => problem,
    stop() {
      unsubscribe()
      stopped.abort()
    },
  }
}

/** Opens the flow once the page has read the newest part of the log, which has the names of agents. */
export function useFlowEvents(id: string): {
  events: readonly StreamedEvent[]
  state: 'reading' | 'there' | 'unknown'
  problem: unknown
} {
  const live = useLiveTopic('connection')
  useLiveTopic('flows')
  const isReady = live.loaded().log
  const [flow, setFlow] = useState<FlowEvents | null>(null)
  useEffect(() => {
    if (!isReady) return
    const opened = openFlow(live, id)
    setFlow(opened)
    return () => opened.stop()
  }, [live, id, isReady])
  useLiveTopic(`flow-events:${id}`)
  return { events: flow?.events() ?? [], state: flow?.state() ?? 'reading', problem: flow?.problem() ?? null }
}
