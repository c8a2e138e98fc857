/**
 * What a call names and nobody has: it succeeds, and the calling model reads of it. What can have no effect is
 * refused.
 */
import type { Agent } from '../../model/agent.ts'
import { allowsTool } from '../../model/authority.ts'
import { findNearest } from '../../model/nearest.ts'
import { badInput, type Refusal } from '../../model/refusal.ts'
import type { CallRequest } from '../kernel/ports.ts'
import type { Running } from '../kernel/running.ts'

/** R11: a list may be long, and the caller reads these. */
const notesMax = 5

export function noteTools(
  caller: Running,
  { allowedTools }: CallRequest,
  target: Agent | undefined,
): string[] {
  if (allowedTools === null || target === undefined) return []
  const known = [...caller.tools.keys()]
  const isForeign = (name: string): boolean =>
    Object.keys(target.mcpServers).some((server) => name.startsWith(`${server}_`))
  const notes = allowedTools.flatMap((name) => {
    if (name.endsWith('*') || isForeign(name)) return []
    if (!known.includes(name))
      return [`allowed_tools: there is no tool "${name}"; ${findNearest(name, known)}.`]
    return allowsTool(target.tools, name)
      ? []
      : [`allowed_tools: ${target.name} does not have the tool "${name}".`]
  })
  return notes.slice(0, notesMax)
}

const filters = ['last_messages', 'roles', 'keywords', 'max_age_seconds', 'include_summary'] as const

/**
 * A client outside keeps its own conversation: a filter over it would do nothing, so it is refused, and not
 * ignored.
 */
export function refuseFilter({ session }: Running, { context }: CallRequest): Refusal | null {
  if (session.kind !== 'external' || context === null) return null
  const given = filters.find((name) => context[name] !== undefined && context[name] !== false)
  return given === undefined
    ? null
    : badInput(
        `context.${given}`,
        context[given],
        'nothing: your conversation is kept by your own program. Put what is needed into the task',
      )
}
