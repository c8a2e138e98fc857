/** The last answer of a callee, where its caller asked for a shape: unwrapped, and read as that shape. */
import { z } from 'zod'
import { parseJson } from './bounded-json.ts'
import { isRecord, Json } from './json.ts'
import { isRefusal } from './refusal.ts'

const fence = '```'

/** Models like to put JSON into a fence; whoever asked for JSON wants what is inside. */
export function unwrapFence(text: string): string {
  const trimmed = text.trim()
  const begins = trimmed.indexOf('\n')
  if (!trimmed.startsWith(fence) || !trimmed.endsWith(fence) || begins < 0) return text
  const inside = trimmed.slice(begins + 1, -fence.length)
  // A fence that ends before the end is one of several: nothing is taken out of such a text.
  return inside.includes(`\n${fence}`) ? text : inside.trim()
}

const Final = z.strictObject({
  summary: z.string().default(''),
  artifacts: z.array(z.strictObject({ kind: z.string(), value: Json })).default([]),
})
export type FinalAnswer = { summary: string; artifacts: { kind: string; value: string }[] }

/** How a subagent is told to answer. */
export const finalAnswerWords = (kinds: readonly string[]): string =>
  'When you are done, answer with what your caller should know, as plain text, or as JSON and nothing else: ' +
  `{"summary": "…", "artifacts": [{"kind": "${kinds.join('|')}", "value": "…"}]}.`

/**
 * An object with `summary` or `artifacts` must be both and nothing else; any other text is the summary. A
 * problem is a text.
 */
export function readFinalAnswer(output: string, kinds: readonly string[]): FinalAnswer | string {
  const parsed = parseJson(unwrapFence(output), 'answer')
  const value = isRefusal(parsed) ? null : parsed.value
  if (!isRecord(value) || !('summary' in value || 'artifacts' in value))
    return { summary: output, artifacts: [] }
  const final = Final.safeParse(value)
  if (!final.success) return 'it is not { summary, artifacts }'
  const foreign = final.data.artifacts.find(({ kind }) => !kinds.includes(kind))
  if (foreign !== undefined) return `artifact kind "${foreign.kind}" is not one of ${kinds.join(', ')}`
  return {
    summary: final.data.summary,
    artifacts: final.data.artifacts.map(({ kind, value: what }) => ({
      kind,
      value: typeof what === 'string' ? what : JSON.stringify(what),
    })),
  }
}

export const isEmptyAnswer = ({ summary, artifacts }: FinalAnswer): boolean =>
  summary.trim() === '' && artifacts.length === 0

export const artifactKindsDefault = ['note', 'path', 'diff', 'json'] as const
