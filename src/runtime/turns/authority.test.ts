import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { valueOf, world } from '../../../test/kits/world.ts'
import type { ScriptedFunction } from '../../adapters/scripted/run-function.ts'

const names = (turn: Parameters<ScriptedFunction>[0]): string =>
  turn.tools
    .map(({ name }) => name)
    .sort()
    .join(' ')
const call =
  (agent: string, input: Record<string, unknown> = {}): ScriptedFunction =>
  async (turn) =>
    String(
      valueOf(await turn.tool('sub_agent', { agent_name: agent, task: `for ${agent}`, ...input } as never))[
        'output'
      ],
    )

test('an agent that may call a name may call and write to the agent that a door made under it', async () => {
  const shown: string[] = []
  const w = await world({
    agents: {
      planner: {
        mayCall: ['helper'],
        script: async (turn) => {
          shown.push(...turn.callable.map(({ title, name }) => title ?? name))
          const answer = await turn.tool('call_agent', { agent_id: 'helper', message: 'hello' })
          const sent = await turn.tool('send_agent_message', {
            sessionId: 'ses_main-agent_h',
            message: 'a word',
          })
          const no = await turn.tool('call_agent', { agent_id: 'stranger', message: 'hello' })
          return JSON.stringify([valueOf(answer)['success'], valueOf(sent)['status'], valueOf(no)['error']])
        },
      },
      stranger: {},
    },
  })
  await w.exchange.createAgent({
    name: 'helper',
    system: '',
    description: '',
    model: null,
    tools: null,
    id: 'h',
  })
  const { output } = await w.run('planner', 'go')
  expect(JSON.parse(output)).toEqual([
    true,
    expect.stringMatching(/dispatched|queued/),
    expect.stringContaining('planner may not call stranger. Allowed: helper'),
  ])
  expect(shown).toEqual(['helper'])
})

test('R7: a callee gets its own tools met with what its caller allowed, and never more', async () => {
  const w = await world({
    agents: {
      boss: { tools: ['sub_agent'], script: call('child', { allowed_tools: ['read', 'shell', 'write'] }) },
      child: { tools: ['read', 'list', 'shell'], script: names },
    },
  })
  expect((await w.run('boss', 'go')).output).toBe('read shell')
})

test('R7: what was taken away stays away further down, whatever the next caller allows', async () => {
  const w = await world({
    agents: {
      boss: { script: call('middle', { allowed_tools: ['read', 'sub_agent'], allow_nested_calls: true }) },
      middle: { script: call('leaf', { allowed_tools: ['read', 'write', 'shell'] }) },
      leaf: { tools: ['*'], script: names },
    },
  })
  expect((await w.run('boss', 'go')).output).toBe('read')
})

test('the tool list of a caller is no ceiling: it may call an agent that may do more', async () => {
  const w = await world({
    agents: {
      boss: { tools: ['sub_agent'], script: call('child') },
      child: { tools: ['shell'], script: names },
    },
  })
  expect((await w.run('boss', 'go')).output).toBe('shell')
})

test('R7: a tool outside the ceiling is refused where it runs, whatever the driver was shown', async () => {
  const script: ScriptedFunction = async (turn) =>
    JSON.stringify((await turn.tool('shell', { command: 'echo owned' })).value)
  const w = await world({
    agents: {
      boss: { script: call('child', { allowed_tools: ['read'] }) },
      child: { tools: ['read', 'shell'], script },
    },
  })
  expect((await w.run('boss', 'go')).output).toContain('tool_disabled')
})

test('allow_nested_calls is false unless asked for: calling tools are neither shown nor obeyed', async () => {
  const script: ScriptedFunction = async (turn) =>
    `${names(turn)} | ${String(valueOf(await turn.tool('sub_agent', { agent_name: 'leaf', task: 'x' }))['errors'])}`
  const w = await world({
    agents: {
      boss: { script: call('child') },
      child: { tools: ['read', 'sub_agent', 'subagent', 'call_agent'], script },
      leaf: {},
    },
  })
  const { output } = await w.run('boss', 'go')
  expect(output).toMatch(/^read \| The tool sub_agent is not available here/)
})

test('a disabled calling tool answers in its own shape, and the refusal is recorded', async () => {
  const script: ScriptedFunction = async (turn) =>
    JSON.stringify([
      (await turn.tool('sub_agent', { agent_name: 'b', task: 'x' })).value,
      (await turn.tool('subagent', { task: 'x' })).value,
      (await turn.tool('call_agent', { agent_id: 'b', message: 'x' })).value,
    ])
  const w = await world({
    agents: {
      a: { tools: ['sub_agent', 'subagent', 'call_agent'], allowSubAgentCalls: false, script },
      b: {},
    },
  })
  const [sub, bounded, persistent] = JSON.parse((await w.run('a', 'go')).output)
  expect(sub).toMatchObject({ success: false, outcome: 'refused', output: '' })
  expect(bounded).toMatchObject({ success: false, summary: '', artifacts: [], timed_out: false })
  expect(persistent).toMatchObject({ success: false, response: '', outcome: 'refused' })
  expect((await w.events('call.refused')).length).toBe(3)
})

test('an agent at its depth limit is not shown the calling tools', async () => {
  const w = await world({
    agents: {
      a: { maxDepth: 1, script: call('b', { allow_nested_calls: true }) },
      b: { maxDepth: 1, tools: ['read', 'sub_agent'], script: names },
      c: {},
    },
  })
  expect((await w.run('a', 'go')).output).toBe('read')
})

test('maxDepth is documented as something else: it counts hops from the root turn, whoever makes them', async () => {
  const docs = await readFile(new URL('../../../docs/configuration.md', import.meta.url), 'utf8')
  expect(docs).toMatch(/^maxDepth = 5 .*hops from the root turn; default: 5$/m)
  const chain = (maxDepth: number) =>
    world({
      agents: {
        a: { maxDepth: 1, script: call('b', { allow_nested_calls: true }) },
        b: {
          maxDepth,
          tools: ['sub_agent'],
          script: async (turn) => (names(turn) === '' ? 'none' : call('c')(turn)),
        },
        c: { script: () => 'reached' },
      },
    })
  expect((await (await chain(2)).run('a', 'go')).output).toBe('reached')
  expect((await (await chain(1)).run('a', 'go')).output).toBe('none')
})

test('calling tools name the agents that may be called, their descriptions and the own session', async () => {
  const w = await world({
    agents: {
      a: { tools: ['sub_agent'], mayCall: ['b'], script: (turn) => turn.tools[0]?.description ?? '' },
      b: { description: 'writes code' },
      c: { description: 'secret' },
    },
  })
  const { output, session } = await w.run('a', 'go')
  expect(output).toContain('b (writes code)')
  expect(output).not.toContain('secret')
  expect(output).toContain(String(session))
})

test('a tool under ask is not run where nobody can be asked', async () => {
  const w = await world({
    agents: {
      a: {
        tools: ['shell'],
        ask: ['shell'],
        script: async (turn) =>
          `${names(turn)}|${JSON.stringify((await turn.tool('shell', { command: 'true' })).value)}`,
      },
    },
  })
  expect((await w.run('a', 'go')).output).toContain('a person must be asked first')
})
