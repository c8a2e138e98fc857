/** Explanations of a small world, with ids left out of the words. */
import type { ScriptedFunction } from '../../src/adapters/scripted/run-function.ts'
import { explainStall } from '../../src/runtime/look/explain.ts'
import type { ExplainPorts } from '../../src/runtime/look/explain-ports.ts'
import type { World } from './world.ts'

export const handOn =
  (agent: string, task: string, more: object = {}): ScriptedFunction =>
  async (turn) =>
    String((await turn.tool('sub_agent', { agent_name: agent, task, allow_nested_calls: true, ...more })).ok)
export const never: ScriptedFunction = (turn) =>
  new Promise((_, reject) => turn.signal.addEventListener('abort', () => reject(turn.signal.reason)))

export const explained = async (w: World, id: string, isRun: ExplainPorts['isRun'] = () => true) => {
  const found = await explainStall({ store: w.store, now: w.clock.now(), lists: w.store.lists, isRun }, id)
  if (found === null) throw new Error('nothing may be seen')
  const hide = (text: string): string =>
    text.replaceAll(/(turn|call|ses|flow|question|msg)_[a-z0-9-]+/g, '$1_…')
  return {
    ...found,
    text: hide(found.text),
    sentences: found.roots.map(({ sentence }) => hide(sentence)),
  }
}
