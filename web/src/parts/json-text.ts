/** JSON as people read it. */
import type { Json } from '../../../src/model/json.ts'

/** Text stays text; one field alone is shown as itself. */
export function jsonText(value: Json): string {
  if (typeof value === 'string') return value
  return JSON.stringify(value, null, 2) ?? ''
}

const shownMax = 120

/** One line that tells this input from others. */
export function jsonLine(value: Json): string {
  if (value === null) return ''
  if (typeof value !== 'object') return cut(String(value))
  if (Array.isArray(value)) return cut(JSON.stringify(value))
  const first = names.map((name) => value[name]).find((one) => typeof one === 'string')
  return cut(first ?? JSON.stringify(value))
}

/** Where the point of an input is, in the tools that there are. */
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

const cut = (text: string): string => {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > shownMax ? `${line.slice(0, shownMax)}…` : line
}
