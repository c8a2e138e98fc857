/** What agents say, as attributes of spans: only where it was asked for, without secrets, and cut. */
import type { Masker } from '../model/mask-secrets.ts'
import { preview } from '../model/text.ts'

export type Content = {
  /** The value as JSON. */
  json(value: unknown): string
}

export const createContent = (masker: Masker, valueMax: number): Content => ({
  json: (value) => preview(JSON.stringify(masker.value(value)) ?? 'null', valueMax),
})

type Part =
  | { type: 'text'; content: string }
  | { type: 'tool_call'; id: string; name: string; arguments: unknown }

export const messageText = (content: Content, role: 'user' | 'assistant', text: string): string =>
  content.json([{ role, parts: [{ type: 'text', content: text }] }])

/** A model's answer, as it was recorded, in the shape that the conventions give to output messages. */
export function outputText(content: Content, output: unknown, finish: string | null): string {
  const answer = (typeof output === 'object' && output !== null ? output : { text: output }) as {
    text?: unknown
    toolCalls?: unknown
  }
  const calls = Array.isArray(answer.toolCalls)
    ? (answer.toolCalls as { id: string; name: string; input: unknown }[])
    : []
  const parts: Part[] = [
    ...(typeof answer.text === 'string' && answer.text !== ''
      ? [{ type: 'text' as const, content: answer.text }]
      : []),
    ...calls.map(({ id, name, input }) => ({ type: 'tool_call' as const, id, name, arguments: input })),
  ]
  return content.json([{ role: 'assistant', parts, finish_reason: finish ?? 'stop' }])
}
