/** JSON as people read it. */
import type { Json } from '../../../src/model/json.ts'

/** Text stays text. */
export function formatJson(value: Json): string {
  if (typeof value === 'string') return value
  return JSON.stringify(value, null, 2) ?? ''
}

const shownMax = 120

/** One line that distinguishes this input from others. */
export function summarizeJson(value: Json): string {
  if (value === null) return ''
  if (typeof value !== 'object') return shorten(String(value))
  if (Array.isArray(value)) return shorten(JSON.stringify(value))
  const first = names.map((name) => value[name]).find((one) => typeof one === 'string')
  return shorten(first ?? JSON.stringify(value))
}

/** The most telling field of an input, for the tools that exist. */
const names = [
  'path',
  'command',
  'pattern',
  'query',
  'agent_name',
  'agent_id',
  'sessionId',
  'task',
  'message',
]

const shorten = (text: string): string => {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > shownMax ? `${line.slice(0, shownMax)}…` : line
}
