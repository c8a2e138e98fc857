/**
 * A tool's answer as MCP clients read it. Some read only the text part, some only the structured one, so each
 * is complete.
 */
import type { CallToolResult } from '@modelcontextprotocol/server'
import { isRecord, type Json } from '../../model/json.ts'
import type { ToolAnswer } from '../../runtime/kernel/ports.ts'

/** Clients cut results at whole lines: one very long line would not be shown at all. */
const lineUnitsMax = 1000
/** A text above this, or of several lines, stands for itself below the other fields. */
const inlineUnitsMax = 200

type Fields = { [name: string]: Json }

export function toToolResult(answer: ToolAnswer): CallToolResult {
  // The protocol takes objects; a tool of somebody else may answer with anything.
  const structured = isRecord(answer.value) ? (answer.value as Fields) : { result: answer.value }
  return {
    content: [{ type: 'text', text: renderAnswer(structured) }],
    structuredContent: structured,
    ...(answer.ok ? {} : { isError: true }),
  }
}

/** One line of JSON where it is short; otherwise long texts follow it, with their own line breaks. */
export function renderAnswer(fields: Fields): string {
  const whole = JSON.stringify(fields)
  if (whole.length <= lineUnitsMax && !whole.includes('\\n')) return whole
  const below: [string, string][] = []
  const rest = takeOutLong(fields, '', below)
  const head = JSON.stringify(rest)
  const short = head.length <= lineUnitsMax ? head : JSON.stringify(rest, null, 1)
  return [short, ...below.map(([path, text]) => `${path}:\n${breakLines(text)}`)].join('\n\n')
}

function takeOutLong(value: Json, path: string, below: [string, string][]): Json {
  if (typeof value === 'string') {
    if (value.length <= inlineUnitsMax && !value.includes('\n')) return value
    below.push([path, value])
    return '(below)'
  }
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map((item, at) => takeOutLong(item, `${path}[${at}]`, below))
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      takeOutLong(field, path === '' ? name : `${path}.${name}`, below),
    ]),
  )
}

/** Broken between code points, and only where a line is longer than clients show. */
const breakLines = (text: string): string =>
  text
    .split('\n')
    .map((line) => (line.length <= lineUnitsMax ? line : (line.match(/.{1,500}/gsu) ?? []).join('\n')))
    .join('\n')
