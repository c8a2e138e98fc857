/** A request for leave as agents word it, and the option of theirs that answers it. Pure. */
import type { AskedTool } from '../../model/permission.ts'
import { isRecord } from '../../model/json.ts'
import { exceededBound, jsonHead } from '../../model/json-head.ts'
import { headUnits } from '../../model/text.ts'
import { textAt } from './text-at.ts'

export type Option = { id: string; kind: string; name: string }

/**
 * The option that says this, or null where the agent has none: then the request is cancelled. Leave for the whole
 * session is remembered by us: what an agent calls "always" may end up in the user's own settings.
 */
export function chooseOption(options: readonly Option[], answer: 'allow' | 'deny'): string | null {
  const kinds = answer === 'deny' ? ['reject_once', 'reject_always'] : ['allow_once', 'allow_always']
  for (const kind of kinds) {
    const fitting = options.filter((option) => option.kind === kind)
    const found = fitting.find(({ id }) => id.includes('session')) ?? fitting[0]
    if (found !== undefined) return found.id
  }
  return null
}

/** R11: what is kept and compared of a tool that an agent names. A cut text ends in a way that no name does. */
const idMax = 200
const titleMax = 500
const nameMax = 100
const locationsMax = 100
const pathMax = 1000
const inputBounds = { bytesMax: 16 * 1024, depthMax: 100 }

const short = (text: string, max: number): string =>
  text.length <= max ? text : `${headUnits(text, max - 1)}…`

export const readId = (call: Record<string, unknown>): string => short(textAt(call, 'toolCallId'), idMax)

/** What the request says of its tool, over what the agent had said before. */
export function readAsked(request: unknown, before: AskedTool | undefined): AskedTool {
  const given = isRecord(request) ? request : {}
  const text = (name: string, max: number): string | null =>
    typeof given[name] === 'string' ? short(given[name], max) : null
  const input = isEmpty(given['rawInput']) ? before?.input : given['rawInput']
  return {
    id: text('toolCallId', idMax) ?? before?.id ?? '',
    title: text('title', titleMax) ?? before?.title ?? '',
    name: text('name', nameMax) ?? before?.name ?? readClaudeName(given['_meta']),
    kind: text('kind', nameMax) ?? before?.kind ?? 'other',
    // Gemini has the arguments as text in its content only.
    input: slim(isEmpty(input) ? (given['content'] ?? null) : input),
    locations: readLocations(given['locations']) ?? before?.locations ?? [],
  }
}

/** For whoever decides on it: what is not shown would run as well. */
export const cutWords =
  'This is longer than what is kept, and only its beginning is shown. The rest counts too.'

/** An input that is too long to be kept: what tells whose tool it is, and its beginning. */
function slim(input: unknown): unknown {
  if (exceededBound(input, inputBounds) === null) return input
  const cut = jsonHead(input, inputBounds.bytesMax)
  if (!isRecord(input)) return { warning: cutWords, cut }
  const names = ['server', 'tool', 'command'].filter((name) => name in input)
  const known = Object.fromEntries(names.map((name) => [name, short(String(input[name]), nameMax)]))
  return { ...known, warning: cutWords, cut }
}

const isEmpty = (value: unknown): boolean =>
  value == null || (isRecord(value) && Object.keys(value).length === 0)

function readClaudeName(meta: unknown): string | null {
  const claude = isRecord(meta) && isRecord(meta['claudeCode']) ? meta['claudeCode'] : {}
  return typeof claude['toolName'] === 'string' ? short(claude['toolName'], nameMax) : null
}

function readLocations(locations: unknown): string[] | null {
  if (!Array.isArray(locations)) return null
  return locations
    .slice(0, locationsMax)
    .flatMap((one: unknown) =>
      isRecord(one) && typeof one['path'] === 'string' ? [headUnits(one['path'], pathMax)] : [],
    )
}

export function readOptions(options: unknown): Option[] {
  if (!Array.isArray(options)) return []
  return options.flatMap((one: unknown): Option[] =>
    isRecord(one) && typeof one['optionId'] === 'string'
      ? [{ id: one['optionId'], kind: textAt(one, 'kind'), name: textAt(one, 'name') }]
      : [],
  )
}
