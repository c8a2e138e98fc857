/** What a turn may do. R7: it only shrinks on the way down. */
import { z } from 'zod'
import { table } from './table.ts'

export const Authority = z.strictObject({
  /** The ceiling that `allowed_tools` along the path left; null is no ceiling yet. */
  tools: z.array(z.string()).nullable(),
  /** False removes calling, spawning and sending tools. */
  nested: z.boolean(),
})
export type Authority = z.infer<typeof Authority>

export const fullAuthority: Authority = { tools: null, nested: true }

/** `*` allows all, `name_*` all that start so, otherwise the exact name. */
export const matchesTool = (pattern: string, name: string): boolean =>
  pattern === '*' || pattern === name || (pattern.endsWith('*') && name.startsWith(pattern.slice(0, -1)))

export const allowsTool = (patterns: readonly string[], name: string): boolean =>
  patterns.some((pattern) => matchesTool(pattern, name))

/** The ceiling for a callee: the caller's, met with what this call allows. */
export function shrink(
  authority: Authority,
  allowedTools: readonly string[] | null,
  nested: boolean,
): Authority {
  return { tools: meet(authority.tools, allowedTools), nested: authority.nested && nested }
}

function meet(ceiling: readonly string[] | null, allowed: readonly string[] | null): string[] | null {
  if (allowed === null) return ceiling === null ? null : [...ceiling]
  return ceiling === null ? [...allowed] : meetTools(allowed, ceiling)
}

/** Patterns that allow what both lists allow. */
export function meetTools(allowed: readonly string[], ceiling: readonly string[]): string[] {
  const within = allowed.filter((pattern) => coveredBy(ceiling, pattern))
  const narrower = ceiling.filter((pattern) => coveredBy(allowed, pattern))
  return [...new Set([...within, ...narrower])]
}

const coveredBy = (patterns: readonly string[], pattern: string): boolean =>
  patterns.some((wide) => covers(wide, pattern))

/** Whether `wide` allows all that `pattern` does: an exact name never covers a wildcard that begins with it. */
const covers = (wide: string, pattern: string): boolean =>
  wide === pattern || (wide.endsWith('*') && pattern.startsWith(wide.slice(0, -1)))

/**
 * A tool that is of no use without another brings it along: what was called in the background is waited for, and
 * what was cut is read. Mail is read where it can be written.
 */
const broughtBy = table<readonly string[]>({
  wait_for_call: ['sub_agent', 'subagent', 'call_agent'],
  read_output: ['sub_agent', 'subagent', 'call_agent', 'wait_for_call'],
  buffer: ['send-message', 'send_agent_message'],
})

/** Only there because another tool brings it: a model is shown it once there is something to wait for or to read. */
export const isBroughtAlong = (agentTools: readonly string[], name: string): boolean =>
  (name === 'wait_for_call' || name === 'read_output') && !allowsTool(agentTools, name)

/** R7: both the agent's own list and the ceiling must allow a tool, or one that brings it along. */
export const mayUse = (authority: Authority, agentTools: readonly string[], name: string): boolean =>
  [name, ...(broughtBy[name] ?? [])].some(
    (one) => allowsTool(agentTools, one) && (authority.tools === null || allowsTool(authority.tools, one)),
  )
