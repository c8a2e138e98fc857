/** Spans as OTLP says them in JSON: ids in hex, numbers of 64 bits as text, kinds and states as numbers. */

export type AttributeValue = string | number | boolean | readonly string[]

export type Span = {
  traceId: string
  spanId: string
  parentId: string | null
  /** The parent is in another system. */
  remoteParent: boolean
  name: string
  kind: 'internal' | 'client'
  startMs: number
  endMs: number
  attributes: Readonly<Record<string, AttributeValue>>
  failed: boolean
}

const kinds = { internal: 1, client: 3 } as const
const statusError = 2
/** Sampled; whether the parent is remote is known; it is. */
const flags = { sampled: 0x1, remoteKnown: 0x100, remote: 0x200 }

export function otlpRequest(
  spans: readonly Span[],
  resource: Readonly<Record<string, string>>,
  version: string,
): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: toOtlpAttributes(resource) },
        scopeSpans: [{ scope: { name: 'tieline', version }, spans: spans.map(toOtlpSpan) }],
      },
    ],
  })
}

function toOtlpSpan(span: Span): object {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentId === null ? {} : { parentSpanId: span.parentId }),
    flags: flags.sampled | flags.remoteKnown | (span.remoteParent ? flags.remote : 0),
    name: span.name,
    kind: kinds[span.kind],
    startTimeUnixNano: toNanos(span.startMs),
    endTimeUnixNano: toNanos(Math.max(span.startMs, span.endMs)),
    attributes: toOtlpAttributes(span.attributes),
    status: span.failed ? { code: statusError } : {},
  }
}

const toNanos = (ms: number): string => `${Math.max(0, Math.round(ms))}000000`

const toOtlpAttributes = (attributes: Readonly<Record<string, AttributeValue>>): object[] =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: toOtlpValue(value) }))

function toOtlpValue(value: AttributeValue): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  return { arrayValue: { values: value.map((stringValue) => ({ stringValue })) } }
}
