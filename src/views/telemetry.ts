/** Traces as a view of the log: events in, spans out to the collector that the environment names. */
import type { Agent } from '../model/agent.ts'
import type { StoredEvent } from '../model/event.ts'
import { createMasker } from '../model/mask-secrets.ts'
import { secretValues } from '../model/secret-shapes.ts'
import type { Sampling } from '../model/trace.ts'
import type { Clock } from '../runtime/kernel/ports.ts'
import { otlpExport } from './otlp-export.ts'
import { createContent } from './telemetry-content.ts'
import { telemetrySettings, type Env } from './telemetry-settings.ts'
import { spanFold } from './telemetry-spans.ts'
import { table } from '../model/table.ts'

export type TelemetryDeps = {
  clock: Clock
  env: Env
  version: string
  warn: (text: string) => void
  /** For the title and the model of an agent. */
  agent?: (name: string) => Agent | undefined
  /** The kind of a configured provider: `anthropic`, `openai`, `google`, `openai-compatible`. */
  providerKind?: (name: string) => string | undefined
}

export type TelemetryView = {
  /** For `traceparentOf`: what is exported of which traces. */
  readonly sampling: Sampling
  /** Takes events in order, as they are committed. Never throws, never waits. */
  events(events: readonly StoredEvent[]): void
  close(): Promise<void>
}

/** What the conventions call those that we know. */
const providers = table({
  anthropic: 'anthropic',
  openai: 'openai',
  google: 'gcp.gemini',
})

/** Null where the environment names no collector. */
export function telemetryView({
  clock,
  env,
  version,
  warn,
  agent = () => undefined,
  providerKind = () => undefined,
}: TelemetryDeps): TelemetryView | null {
  const settings = telemetrySettings(env, version, warn)
  if (settings === null) return null
  const out = otlpExport({ settings, clock, version, warn })
  const fold = spanFold({
    sampling: settings.sampling,
    agent,
    provider: (name) => providers[providerKind(name) ?? name] ?? name,
    content: settings.content
      ? createContent(
          createMasker([...secretValues(env), ...Object.values(settings.headers)], { strict: true }),
          settings.valueMax,
        )
      : null,
  })
  return {
    sampling: settings.sampling,
    events(events) {
      try {
        const spans = fold.collectSpans(events)
        if (spans.length > 0) out.add(spans)
      } catch (fault) {
        // Telemetry must never break what it observes.
        warn(`telemetry: ${fault instanceof Error ? fault.message : String(fault)}`)
      }
    },
    close: () => out.close(),
  }
}
