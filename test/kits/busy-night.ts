/** A recorded flow with everything in it: nested and parallel calls, refusals, a timeout, tools. */
import { valueOf, world, type World } from './world.ts'
import type { ScriptedFunction } from '../../src/adapters/scripted/run-function.ts'
import type { Driver, Tool, ToolEffect } from '../../src/runtime/kernel/ports.ts'

export const counting = (name: string, effect: ToolEffect, runs: string[]): Tool => ({
  name,
  effect,
  calling: false,
  describe: () => ({ name, description: '', input: {} }),
  run: async (input) => {
    runs.push(`${name} ${JSON.stringify(input)}`)
    return { ok: true, value: { done: runs.length } }
  },
})

/** Answers as a model would, one request a step, and counts how often it was asked. */
export const modelLike = (asked: string[], calls: number): Driver => ({
  async run(turn, steps) {
    let text = ''
    for (let n = 1; n <= calls; n += 1) {
      const answer = await steps.step('model', 'm', { n, text }, async () => {
        asked.push(turn.task)
        return { value: { text: `${turn.task} ${n}` }, usage: { input: 3, output: 4, estimated: false } }
      })
      text = String((answer as { text: string }).text)
      const got = await steps.tool('look', { n })
      text += JSON.stringify(got.value)
    }
    return { outcome: 'completed', output: text, error: null, iterations: calls }
  },
})

export const call = (agent: string, task: string, more: object = {}) => ({ agent_name: agent, task, ...more })

export type Recorded = { w: World; runs: string[]; asked: string[] }

/**
 * Nested and parallel calls, tools with effects, refusals, a timeout, messages passed on, and a background
 * call.
 */
export async function busyNight(): Promise<Recorded> {
  const runs: string[] = []
  const asked: string[] = []
  const boss: ScriptedFunction = async (turn) => {
    await turn.think('let me see')
    if (turn.task === 'hello') return 'hello, I am the boss'
    await turn.tool('mark', { by: 'boss' })
    const [a, b] = await Promise.all([
      turn.tool('sub_agent', call('mid', 'left', { allow_nested_calls: true })),
      turn.tool('sub_agent', call('model', 'right', { context: { last_messages: 4 }, input: { x: 1 } })),
    ])
    const refused = [
      await turn.tool('sub_agent', call('nobody', 'x')),
      await turn.tool('sub_agent', call('boss', 'again')),
      await turn.tool('sub_agent', { task: 3 }),
    ]
    const late = await turn.tool('sub_agent', call('sleeper', 'wait', { timeout_seconds: 1 }))
    const background = valueOf(await turn.tool('sub_agent', call('model', 'later', { background: true })))
    const waited = await turn.tool('wait_for_call', { call_id: background['call_id'] as string })
    const asked = await turn.tool('call_agent', { agent_id: 'keeper', message: 'what is new?' })
    await turn.tool('no_such_tool', {})
    return [a, b, ...refused, late, waited, asked].map((answer) => JSON.stringify(answer.value)).join('\n')
  }
  const w = await world({
    agents: {
      boss: { script: boss },
      mid: {
        script: async (turn) => {
          const marked = await turn.tool('mark', { by: 'mid' })
          const answered = await turn.tool('sub_agent', call('model', 'deep'))
          return `${marked.ok} ${JSON.stringify(answered.value)}`
        },
      },
      model: { driver: modelLike(asked, 2) },
      keeper: { script: async (turn) => turn.think(`heard ${turn.history.length}`) },
      sleeper: {
        script: (turn) =>
          new Promise((_, reject) => turn.signal.addEventListener('abort', () => reject(turn.signal.reason))),
      },
    },
    tools: [counting('mark', 'write', runs), counting('look', 'read', runs)],
  })
  const first = await w.run('boss', 'hello')
  await w.run('boss', 'go', { session: first.session as `ses_${string}` })
  await w.pass(5000)
  return { w, runs, asked }
}
