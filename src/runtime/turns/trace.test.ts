/** A trace that came with a request goes on to whoever is asked on its behalf. */
import { expect, test } from 'vitest'
import { world } from '../../../test/kits/world.ts'
import type { Tool } from '../kernel/ports.ts'
import { isRefusal } from '../../model/refusal.ts'

const seen: (string | null)[] = []
const outside: Tool = {
  name: 'outside',
  effect: 'read',
  calling: false,
  describe: () => ({ name: 'outside', description: '', input: {} }),
  run: async (_input, { trace }) => {
    seen.push(trace?.() ?? null)
    return { ok: true, value: null }
  },
}
const agents = {
  planner: {
    script: async (turn: { tool: (name: string, input: never) => Promise<unknown> }) => {
      await turn.tool('outside', {} as never)
      await turn.tool('sub_agent', { agent_name: 'coder', task: 'x' } as never)
      return 'ok'
    },
  },
  coder: {
    script: async (turn: { tool: (name: string, input: never) => Promise<unknown> }) => {
      await turn.tool('outside', {} as never)
      return 'ok'
    },
  },
}
const incoming = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

test('without an exporter the incoming trace is handed down the tree as it came', async () => {
  const w = await world({ agents, tools: [outside] })
  const made = await w.exchange.createSession(
    { kind: 'user' },
    {
      cwd: '/tmp',
      agent: 'planner',
      model: null,
      title: '',
      parent: null,
      initialMessage: 'go',
      id: null,
      trace: incoming,
    },
  )
  await w.until(
    w.exchange.waitForSession(
      { kind: 'user' },
      isRefusal(made) ? 'ses_none' : made.sessionId,
      10_000,
      new AbortController().signal,
    ),
  )
  expect(seen.splice(0)).toEqual([incoming, incoming])
  await w.run('planner', 'go')
  expect(seen.splice(0)).toEqual([null, null])
  expect(w.node.runtime.traces.size).toBe(0)
})

test('with an exporter each step is a parent of its own in the same trace', async () => {
  const w = await world({ agents, tools: [outside] })
  Object.assign(w.node.runtime, { sampling: { follow: true, ratio: 1 } })
  await w.run('planner', 'go')
  const [root, child] = seen.splice(0).map((trace) => trace?.split('-') ?? [])
  expect(root?.[1]).toMatch(/^[0-9a-f]{32}$/)
  expect(child?.[1]).toBe(root?.[1])
  expect(child?.[2]).not.toBe(root?.[2])
})
