/**
 * What the process says about itself, line by line: JSON for machines, or words for people. Without secrets,
 * and never longer than a line should be.
 */
import type { Json } from '../model/json.ts'
import { createMasker, type Masker } from '../model/mask-secrets.ts'
import type { Millis } from '../model/id.ts'
import { preview } from '../model/text.ts'
import type { Clock } from '../runtime/kernel/ports.ts'

export const logLevels = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof logLevels)[number]
export type LogFields = Readonly<Record<string, Json>>
/** Never throws. */
export type LogSink = (level: LogLevel, message: string, fields?: LogFields) => void

export type LogOptions = {
  /** The least that is written. */
  level: LogLevel
  /**
   * Takes one line with its line break. What it throws is swallowed: a full disk or a closed terminal must
   * not end the process.
   */
  write: (line: string) => void
  clock: Clock
  /** A moment as text, ISO 8601. */
  time: (at: Millis) => string
  json: boolean
  colour: boolean
  /** That of the log's guard, so that both know the same secrets. */
  masker?: Masker
}

/** R11: in characters, but for `fieldsMax`. */
const messageMax = 4000
const valueMax = 2000
const nameMax = 100
const fieldsMax = 32
const depthMax = 6
const itemsMax = 50

export function logSink({
  level: least,
  write,
  clock,
  time,
  json,
  colour,
  masker = createMasker([]),
}: LogOptions): LogSink {
  const from = logLevels.indexOf(least)
  return (level, message, fields = {}) => {
    if (logLevels.indexOf(level) < from) return
    try {
      const clean = Object.entries(fields)
        .slice(0, fieldsMax)
        .map(([name, value]): [string, Json] => [
          preview(name, nameMax),
          bound(masker.value(value, name), depthMax),
        ])
      const left = Object.keys(fields).length - clean.length
      if (left > 0) clean.push(['fieldsLeftOut', left])
      // A secret at the cut is looked at whole.
      const text = truncate(masker.text(preview(message, 2 * messageMax)), messageMax, message.length)
      write(
        json
          ? jsonLine(time(clock.now()), level, text, clean)
          : humanLine(time(clock.now()), level, text, clean, colour),
      )
    } catch {
      // Nobody is left to tell it to.
    }
  }
}

const truncate = (text: string, max: number, length = text.length): string => {
  const short = preview(text, max)
  return short.length < text.length ? `${short}… (${length} characters)` : text
}

function bound(value: Json, depth: number): Json {
  if (typeof value === 'string') return truncate(value, valueMax)
  if (value === null || typeof value !== 'object') return value
  if (depth === 0) return '…'
  if (Array.isArray(value))
    return [
      ...value.slice(0, itemsMax).map((item) => bound(item, depth - 1)),
      ...(value.length > itemsMax ? [`… ${value.length - itemsMax} more`] : []),
    ]
  const entries = Object.entries(value)
  return Object.fromEntries([
    ...entries
      .slice(0, itemsMax)
      .map(([name, item]): [string, Json] => [preview(name, nameMax), bound(item, depth - 1)]),
    ...(entries.length > itemsMax ? [['…', entries.length - itemsMax] as [string, Json]] : []),
  ])
}

const ownNames: ReadonlySet<string> = new Set(['time', 'level', 'message'])

/** A field never takes the place of what every line has. */
function jsonLine(at: string, level: LogLevel, message: string, fields: readonly [string, Json][]): string {
  const named = fields.map(([name, value]) => [ownNames.has(name) ? `_${name}` : name, value])
  return `${JSON.stringify({ time: at, level, message, ...Object.fromEntries(named) })}\n`
}

const codes = { debug: 90, info: 36, warn: 33, error: 31 } as const
const paint = (text: string, code: number, colour: boolean): string =>
  colour ? `\u001b[${code}m${text}\u001b[0m` : text

function humanLine(
  at: string,
  level: LogLevel,
  message: string,
  fields: readonly [string, Json][],
  colour: boolean,
): string {
  const parts = fields.map(([name, value]) => {
    const isPlain = typeof value === 'string' && /^[^\s"=]+$/.test(value)
    return `${paint(`${escapeControls(name)}=`, 90, colour)}${escapeControls(isPlain ? value : JSON.stringify(value))}`
  })
  const time = paint(at.slice(11, 23) || at, 90, colour)
  const label = paint(level.padEnd(5), codes[level], colour)
  return `${[time, label, escapeControls(message), ...parts].join(' ')}\n`
}

/** Nothing that was said can move the cursor or begin a line of its own. */
const escapeControls = (text: string): string =>
  text.replaceAll(/\p{Cc}|[\u2028\u2029]/gu, (character) =>
    character === '\n'
      ? '\\n'
      : character === '\t'
        ? '\\t'
        : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
