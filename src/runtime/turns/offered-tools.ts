/**
 * Which tools a request to a model offers. Descriptions are paid for in every request, so tools that only come
 * along with others are offered from the answer on that gives them something to do.
 */
import { isRecord } from '../../model/json.ts'
import type { TurnInput } from '../kernel/ports.ts'
import type { ToolSpec } from '../../wire/tools.ts'
import type { LoopMessage } from './loop.ts'

const callingTools: ReadonlySet<string> = new Set(['sub_agent', 'subagent', 'call_agent'])

/** A call that goes on in the background is waited for; a result that was cut is read on. */
const needsMore = (message: LoopMessage): boolean =>
  message.role === 'tool' &&
  callingTools.has(message.name) &&
  isRecord(message.value) &&
  (message.value['outcome'] === null || message.value['truncated'] === true)

/** The same list each time, so that it is translated once. */
const reduced = new WeakMap<readonly ToolSpec[], readonly ToolSpec[]>()

/** `messages` are all of the turn. Once offered, a tool stays: providers keep what does not change. */
export function offeredTools(
  { tools, later }: Pick<TurnInput, 'tools' | 'later'>,
  messages: readonly LoopMessage[],
): readonly ToolSpec[] {
  if (later === undefined || later.size === 0 || messages.some(needsMore)) return tools
  const few = reduced.get(tools) ?? tools.filter(({ name }) => !later.has(name))
  reduced.set(tools, few)
  return few
}
