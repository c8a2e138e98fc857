/** What a turn hands on of its trace when it asks somebody outside. */
import { findRootTurn, renderTraceparent } from '../../model/trace.ts'
import type { Runtime } from './runtime.ts'
import type { Running } from '../kernel/running.ts'

/**
 * The trace that a flow was begun with, kept while its root runs here, so that no step has to look for it.
 */
export function noteTrace(runtime: Runtime, { row, input }: Running): () => void {
  if (input.type !== 'message.sent' || input.trace === null || row.id !== findRootTurn(row.flow))
    return () => undefined
  runtime.traces.set(row.flow, input.trace)
  return () => void runtime.traces.delete(row.flow)
}

export const traceparentFor = (runtime: Runtime, { row }: Running, key?: string): string | null =>
  renderTraceparent({
    turn: row.id,
    flow: row.flow,
    root: runtime.traces.get(row.flow) ?? null,
    ...(key === undefined ? {} : { key }),
    sampling: runtime.sampling ?? null,
  })
