/**
 * What people call a request, and how it ended for them. A client's own turn is only the frame of what it asked
 * for: its name is the task, and its outcome is that of what it asked for.
 */
import type { EventOf, Outcome, ToolAsk } from './event.ts'
import { preview } from './text.ts'

const namePoints = 80

/** One line of at most 80 characters. */
export const nameText = (text: string): string => {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  const name = preview(line, namePoints)
  return name.length < line.length ? `${name.slice(0, -1).trimEnd()}…` : name
}

/** What a client looks up. Nobody thinks of it as a request. */
const looks: ReadonlySet<string> = new Set([
  'buffer',
  'get_session_state',
  'list_agents',
  'list-session',
  'read_output',
  'wait_for_call',
  'wait_for_mail',
  'wait_for_session',
])

export type Asked = { text: string; use?: ToolAsk | undefined }

/** As 0.1.0 recorded it: the tool, for whom, and the beginning of the text. */
const recordedAsk = /^([a-z]+[-_][a-z_-]+|subagent)(?: ([^:\n]{1,200}))?(?:: ([^]*))?$/

function readAsk({ text, use }: Asked): { tool: string; said: string } | null {
  if (use === undefined) {
    const [, tool, , said = ''] = recordedAsk.exec(text) ?? []
    return tool === undefined ? null : { tool, said }
  }
  const { task, message, initialMessage } = (use.input ?? {}) as Record<string, unknown>
  const said = task ?? message ?? initialMessage ?? ''
  return { tool: use.tool, said: typeof said === 'string' ? said : '' }
}

/** The task of a request: what was asked for, without the tool that it was asked with. */
export function readTask(asked: Asked, isClient: boolean): string {
  const ask = isClient ? readAsk(asked) : null
  return ask === null ? asked.text : ask.said
}

/** Whether a client only looked something up. */
export const isLook = (asked: Asked, isClient: boolean): boolean => {
  const ask = isClient ? readAsk(asked) : null
  return ask !== null && looks.has(ask.tool)
}

type End = Pick<EventOf<'turn.ended'>, 'outcome' | 'output' | 'error'>
/** A call that a client's turn made: how it ended, and why. */
export type Made = { outcome: Outcome | null; error: string | null }

/**
 * How a request ended for the one who asked: what a client's turn asked for decides, of several calls the last.
 */
export function readRootEnd(end: End, isClient: boolean, made: readonly Made[]): Made & { outcome: Outcome } {
  const own = { outcome: end.outcome, error: end.error }
  if (!isClient || end.outcome !== 'completed') return own
  const last = made.at(-1)
  if (last?.outcome != null) return { outcome: last.outcome, error: last.error }
  return readAnswer(end.output) ?? own
}

type Answer = { ok?: unknown; value?: { error?: { code?: unknown; message?: unknown } | null } | null }

/** The answer of a client's turn is its output. What is not allowed has the code of a refusal. */
function readAnswer(output: string): (Made & { outcome: Outcome }) | null {
  if (!output.startsWith('{"ok":false')) return null
  let answer: Answer
  try {
    answer = JSON.parse(output) as Answer
  } catch {
    // It was cut: then nothing more is known than that it failed.
    return { outcome: 'failed', error: null }
  }
  const { code, message } = answer.value?.error ?? {}
  const isFault = code === undefined || code === 'tool_failed' || code === 'interrupted'
  return { outcome: isFault ? 'failed' : 'refused', error: typeof message === 'string' ? message : null }
}

const failures: ReadonlySet<Outcome> = new Set(['failed', 'timed_out', 'budget_exhausted', 'refused', 'lost'])
/** Cancelled on purpose is no failure. */
export const isFailure = (outcome: Outcome | null): boolean => outcome !== null && failures.has(outcome)
