/** What an agent says that it has used, by its own meaning of that. Pure. */
import type { Usage } from '../../model/event.ts'
import { isRecord } from '../../model/json.ts'
import type { UsageMeaning } from './presets.ts'

export type Counted = { input: number; output: number }

/** In the answer to a prompt: `usage`, or Gemini's `_meta.quota.token_count`. Null where nothing is said. */
export function readUsage(answer: unknown): Counted | null {
  if (!isRecord(answer)) return null
  const usage = isRecord(answer['usage']) ? answer['usage'] : null
  if (usage !== null) {
    const output = readCount(usage['outputTokens'])
    const cached = readCount(usage['cachedReadTokens']) + readCount(usage['cachedWriteTokens'])
    return { input: readCount(usage['inputTokens']) + cached, output }
  }
  const meta = isRecord(answer['_meta']) ? answer['_meta'] : {}
  const quota = isRecord(meta['quota']) ? meta['quota'] : {}
  const count = isRecord(quota['token_count']) ? quota['token_count'] : null
  return count === null
    ? null
    : { input: readCount(count['input_tokens']), output: readCount(count['output_tokens']) }
}

const readCount = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.ceil(value) : 0

/**
 * Of this prompt alone. `before` is what the process had counted before it, for agents that count over all of
 * their life; a count that went back was begun anew. `estimate` is what was seen of the prompt and the answer: it
 * counts where nothing was said, and where the agent says less than was seen, since it counts its last request
 * only. Null: nothing to say, not even that.
 */
export function settleUsage(
  meaning: UsageMeaning,
  said: Counted | null,
  before: Counted,
  estimate: Counted,
): Usage {
  const known = said !== null && said.input + said.output > 0 ? said : null
  if (known === null) return { ...estimate, estimated: true }
  if (meaning === 'process' && known.input >= before.input && known.output >= before.output)
    return {
      input: known.input - before.input,
      output: known.output - before.output,
      estimated: false,
    }
  if (meaning === 'last')
    return {
      input: Math.max(known.input, estimate.input),
      output: Math.max(known.output, estimate.output),
      // What came before its last request is not in it.
      estimated: true,
    }
  return { ...known, estimated: false }
}

/** Dollars that an agent says its session has cost so far; null where it says none, or another currency. */
export function readUsd(said: unknown): number | null {
  const cost = isRecord(said) && isRecord(said['cost']) ? said['cost'] : null
  const amount = cost?.['currency'] === 'USD' ? cost['amount'] : null
  return typeof amount === 'number' && Number.isFinite(amount) && amount > 0 ? amount : null
}

/** Of this prompt alone: agents say it of their whole session. One that went back was begun anew. */
export const settleUsd = (said: number, before: number): number => (said >= before ? said - before : said)
