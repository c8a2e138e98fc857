/** A recorded run and a collector to export its spans to. */
import { readAll } from '../../src/runtime/kernel/scope.ts'
import { afterEach, beforeEach } from 'vitest'
import type { EventOf, StoredEvent } from '../../src/model/event.ts'
import { startRun } from '../../src/runtime/sessions/run.ts'
import { systemClock } from '../../src/runtime/kernel/system-clock.ts'
import { telemetryView, type TelemetryDeps } from '../../src/views/telemetry.ts'
import { collector, type Collector, type ReceivedSpan } from './collector.ts'
import { world } from './world.ts'

export const secret = `sk-${'a1B2'.repeat(6)}`
export const incoming = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

export type TelemetryDesk = {
  /** A new collector for each test. */
  readonly out: Collector
  readonly warnings: string[]
  deps: (more?: Record<string, string>, rest?: Partial<TelemetryDeps>) => TelemetryDeps
  /** The spans that the collector received. */
  exportSpans: (events: readonly StoredEvent[], given?: TelemetryDeps) => Promise<ReceivedSpan[]>
}

export function telemetryDesk(): TelemetryDesk {
  let out: Collector
  beforeEach(async () => {
    out = await collector()
  })
  afterEach(() => out.close())
  const warnings: string[] = []
  const deps: TelemetryDesk['deps'] = (more = {}, rest = {}) => ({
    clock: systemClock,
    version: '9.9.9',
    warn: (text) => warnings.push(text),
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: out.url, ...more },
    ...rest,
  })
  return {
    warnings,
    deps,
    get out() {
      return out
    },
    async exportSpans(events, given = deps()) {
      const view = telemetryView(given)
      for (const stored of events) view?.events([stored])
      await view?.close()
      return out.spans
    },
  }
}

/** A planner that thinks, reads, calls a coder and is refused once; on virtual time. */
export async function recordRun(trace: string | null = null): Promise<StoredEvent[]> {
  const w = await world({
    agents: {
      planner: {
        script: async (turn) => {
          await turn.think('first')
          await turn.tool('list', { path: '.' })
          await turn.tool('read', { path: 'no-such-file' })
          const { value } = await turn.tool('sub_agent', { agent_name: 'coder', task: `use ${secret}` })
          await turn.tool('sub_agent', { agent_name: 'planner', task: 'again' })
          return String((value as { output: string }).output)
        },
      },
      coder: {
        script: async (turn) => {
          await turn.think('second')
          await w.clock.sleep(1500)
          return 'done'
        },
      },
    },
  })
  await w.until(
    startRun(w.node.runtime, {
      to: { agent: 'planner', cwd: process.cwd() },
      text: `my key is ${secret}`,
      timeoutMs: undefined,
      maxTokens: undefined,
      trace,
    } as Parameters<typeof startRun>[1]),
  )
  return readAll(w.store, 0, {})
}

export function findSpan(spans: readonly ReceivedSpan[], name: string): ReceivedSpan {
  const found = spans.find((span) => span.name === name)
  if (found === undefined) throw new Error(`no span ${name} in ${spans.map((span) => span.name).join(', ')}`)
  return found
}

export function findSent(events: readonly StoredEvent[]): EventOf<'message.sent'> {
  for (const { event } of events) if (event.type === 'message.sent') return event
  throw new Error('nothing was sent')
}
