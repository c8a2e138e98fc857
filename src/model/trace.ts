/**
 * W3C trace context: reading and writing `traceparent`, and ids for spans that are known before the span is.
 * Ids are hashes of ours: code that knows a turn can name its span, in any process and before it has ended, so
 * nothing has to be handed around or kept.
 */
import { hash } from 'node:crypto'
import type { FlowId, TurnId } from './id.ts'

export type TraceContext = { traceId: string; spanId: string; sampled: boolean }

/** Later versions may add fields after these, and 00 may not. */
const traceparent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** Null for what is not one: the sender is then not part of the trace, and the request is served. */
export function parseTraceparent(text: string | null | undefined): TraceContext | null {
  const match = text == null || text.length > 512 ? null : traceparent.exec(text.trim())
  if (match === null) return null
  const [, version = '', traceId = '', spanId = '', flags = '', more] = match
  if (
    version === 'ff' ||
    (version === '00' && more !== undefined) ||
    /^0+$/.test(traceId) ||
    /^0+$/.test(spanId)
  )
    return null
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

export const formatTraceparent = ({ traceId, spanId, sampled }: TraceContext): string =>
  `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`

/** Of a flow that nobody outside began. */
export const toTraceId = (flow: FlowId): string => hash('sha256', `trace ${flow}`, 'hex').slice(0, 32)

export const turnSpanId = (turn: TurnId): string => hash('sha256', `turn ${turn}`, 'hex').slice(0, 16)

/** Of a step or a call of a turn: both have a key, which is unique in it. */
export const stepSpanId = (turn: TurnId, key: string): string =>
  hash('sha256', `step ${turn} ${key}`, 'hex').slice(0, 16)

/** The turn that began a flow has its suffix. */
export const findRootTurn = (flow: FlowId): TurnId => `turn_${flow.slice(5)}`

/** The trace that a flow belongs to: that of the request that began it, where it came with one. */
export function parseTrace(
  flow: FlowId,
  root: string | null,
): { traceId: string; remote: TraceContext | null } {
  const remote = parseTraceparent(root)
  return { traceId: remote?.traceId ?? toTraceId(flow), remote }
}

/**
 * Which traces are exported: a share of those that begin here, decided by the trace id so that every process
 * decides alike; those that began elsewhere as it was decided there, if `follow`.
 */
export type Sampling = { follow: boolean; ratio: number }

export function isSampled(
  { traceId, remote }: { traceId: string; remote: TraceContext | null },
  { follow, ratio }: Sampling,
): boolean {
  if (follow && remote !== null) return remote.sampled
  // Thirteen digits of sixteen kinds: all are below 2 ** 52.
  return Number.parseInt(traceId.slice(-13), 16) < ratio * 2 ** 52
}

export type Outgoing = {
  turn: TurnId
  flow: FlowId
  /** `trace` of the message that began the flow. */
  root: string | null
  /** The step that calls out, where it is known. */
  key?: string
  /** Null where no spans are exported. */
  sampling: Sampling | null
}

/**
 * What a turn hands on when it calls out: `_meta.traceparent` of MCP and A2A, the header `traceparent` to a
 * provider. Null is nothing.
 * Where no spans are exported the root's is passed on as it came, so that nobody is told of a parent that
 * will never be seen.
 */
export function renderTraceparent({ turn, flow, root, key, sampling }: Outgoing): string | null {
  if (sampling === null) {
    const remote = parseTraceparent(root)
    return remote === null ? null : formatTraceparent(remote)
  }
  const trace = parseTrace(flow, root)
  return formatTraceparent({
    traceId: trace.traceId,
    spanId: key === undefined ? turnSpanId(turn) : stepSpanId(turn, key),
    sampled: isSampled(trace, sampling),
  })
}
