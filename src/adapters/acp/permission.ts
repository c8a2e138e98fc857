/** A request for leave as agents word it, and the option of theirs that answers it. Pure. */
import type { AskedTool } from '../../model/permission.ts'
import { isRecord } from '../../model/json.ts'
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

/** What the request says of its tool, over what the agent had said before. */
export function readAsked(request: unknown, before: AskedTool | undefined): AskedTool {
  const given = isRecord(request) ? request : {}
  const text = (name: string): string | null => (typeof given[name] === 'string' ? given[name] : null)
  const input = isEmpty(given['rawInput']) ? before?.input : given['rawInput']
  return {
    id: text('toolCallId') ?? before?.id ?? '',
    title: text('title') ?? before?.title ?? '',
    name: text('name') ?? before?.name ?? readClaudeName(given['_meta']),
    kind: text('kind') ?? before?.kind ?? 'other',
    // Gemini has the arguments as text in its content only.
    input: isEmpty(input) ? (given['content'] ?? null) : input,
    locations: readLocations(given['locations']) ?? before?.locations ?? [],
  }
}

const isEmpty = (value: unknown): boolean =>
  value == null || (isRecord(value) && Object.keys(value).length === 0)

function readClaudeName(meta: unknown): string | null {
  const claude = isRecord(meta) && isRecord(meta['claudeCode']) ? meta['claudeCode'] : {}
  return typeof claude['toolName'] === 'string' ? claude['toolName'] : null
}

function readLocations(locations: unknown): string[] | null {
  if (!Array.isArray(locations)) return null
  return locations.flatMap((one: unknown) =>
    isRecord(one) && typeof one['path'] === 'string' ? [one['path']] : [],
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
