/**
 * All events of one flow, in order: those of the past read once from the server, also of a flow that is older
 * than what the page has read, new ones as they come.
 */
import { useEffect, useState } from 'react'
import type { FlowEvents as FlowPage, StreamedEvent } from '../../../src/wire/log.ts'
import { useLook } from '../live/use-live.ts'
import type { Live } from '../live/live.ts'
import { flowFilter } from './flow-filter.ts'

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
    // What came meanwhile may be among what was read.
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
      deaf()
      stopped.abort()
    },
  }
}

/** Opened once the page knows the newest part of the log, with the names of agents. */
export function useFlowEvents(id: string): {
  events: readonly StreamedEvent[]
  state: 'reading' | 'there' | 'unknown'
  problem: unknown
} {
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
