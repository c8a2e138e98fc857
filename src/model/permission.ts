/** What becomes of what a driven agent asks leave for: a rule, unless a person is to be asked. */
import type { Permissions } from './agent.ts'
import { allowsTool, type Authority } from './authority.ts'
import { isRecord } from './json.ts'

/** A tool call as far as it is known: what the request says, and what the agent had said of it before. */
export type AskedTool = {
  id: string
  title: string
  name: string | null
  kind: string
  input: unknown
  locations: readonly string[]
}

export type Ruling = 'allow' | 'deny' | 'ask'

/** What an agent calls our tools. Only these whole forms: a title that merely mentions us is anybody's. */
const ownForms = [
  /^mcp__tieline__([\w-]+)$/,
  /^tieline[_/.-]([\w-]+)$/,
  /^mcp_tieline_([\w-]+)$/,
  /^([\w-]+) \(tieline MCP Server\)$/,
  /^(?:Tool: |mcp: )?tieline[/.]([\w-]+)$/,
]
/** A command or an edit is never ours, whatever it is called. */
const handsOn = new Set(['execute', 'edit', 'delete', 'move'])

/** The tool of ours that this is, or null. The rules for it are checked where it runs. */
export function findOwnTool(
  { title, name, kind, input }: AskedTool,
  titles: ReadonlyMap<string, string>,
): string | null {
  // Codex calls every tool a command, and names server and tool in its input.
  if (isRecord(input) && input['server'] === 'tieline' && !('command' in input))
    return typeof input['tool'] === 'string' ? input['tool'] : null
  if (handsOn.has(kind)) return null
  for (const text of [name ?? '', title]) {
    for (const form of ownForms) {
      const found = form.exec(text)?.[1]
      if (found !== undefined) return found
    }
  }
  return titles.get(title) ?? null
}

const reads = new Set(['read', 'search', 'think'])

/** `ceiling` is what `allowed_tools` along the path left; null is everything. */
export function ruleOn(
  asked: AskedTool,
  policy: Permissions,
  ceiling: Authority['tools'],
  titles: ReadonlyMap<string, string>,
): Ruling {
  if (findOwnTool(asked, titles) !== null) return 'allow'
  if (ceiling !== null && !namesOf(asked.kind).some((tool) => allowsTool(ceiling, tool))) return 'deny'
  switch (policy) {
    case 'allow':
    case 'deny':
    case 'ask':
      return policy
    case 'readonly':
      return reads.has(asked.kind) ? 'allow' : 'deny'
  }
}

/** Which of our tools does the same, so that `allowed_tools` means the same for every agent. */
function namesOf(kind: string): readonly string[] {
  switch (kind) {
    case 'read':
      return ['read']
    case 'search':
      return ['search', 'list']
    case 'edit':
    case 'delete':
    case 'move':
      return ['edit', 'write']
    case 'execute':
      return ['shell']
    default:
      return []
  }
}
