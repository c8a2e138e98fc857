/**
 * What a recorded model step is found by: what was asked and what came back, without the words that we put
 * around it. Refusals, hints and frames are worded better from release to release; a turn that runs again
 * from an older record must still find its steps, and compares what was decided rather than how it was said.
 */
import { isRecord, type Json } from '../../model/json.ts'
import type { TurnInput } from '../kernel/ports.ts'
import type { LoopMessage } from './loop.ts'

/** Of the answer of a calling tool: everything else in it is worded by us, or says what these say. */
const keptFields = [
  'success',
  'outcome',
  'output',
  'response',
  'summary',
  'artifacts',
  'truncated',
  'call_id',
  'correlation_id',
] as const
const callingTools: ReadonlySet<string> = new Set(['sub_agent', 'subagent', 'call_agent'])

export type MatchedBy = { iteration: number; tail: Json[]; worded?: true }

export function matchedBy(
  { task, prompt, input, attempt }: Pick<TurnInput, 'task' | 'prompt' | 'input' | 'attempt'>,
  iteration: number,
  tail: readonly LoopMessage[],
): MatchedBy {
  const reduced = tail.map((message): Json => {
    if (message.role === 'tool') return reduceAnswer(message)
    const isFramed = message.role === 'user' && message.text === prompt && prompt !== task
    return isFramed ? { role: 'user', task, input, attempt } : null
  })
  const told = tail.map((message, at) => reduced[at] ?? (message as Json))
  return reduced.some((one) => one !== null)
    ? { iteration, tail: told, worded: true }
    : { iteration, tail: told }
}

/** Null where nothing in it is worded by us. */
function reduceAnswer({ role, id, name, ok, value }: Extract<LoopMessage, { role: 'tool' }>): Json {
  if (callingTools.has(name) && isRecord(value)) return { role, id, name, ok, ...pick(value, keptFields) }
  const error = isRecord(value) ? value['error'] : null
  return !ok && isRecord(error) && typeof error['code'] === 'string'
    ? { role, id, name, ok, code: error['code'] }
    : null
}

function pick(value: Record<string, unknown>, names: readonly string[]): { [name: string]: Json } {
  const picked: { [name: string]: Json } = {}
  for (const name of names) if (value[name] !== undefined) picked[name] = value[name] as Json
  return picked
}
