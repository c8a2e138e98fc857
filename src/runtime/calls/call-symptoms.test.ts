/** What callers ran into in 0.1.0, one test for each. */
import { expect, test } from 'vitest'
import { flowOf, replayed } from '../../../test/kits/replay.ts'
import { valueOf, world, type AgentSpec, type World, type WorldOptions } from '../../../test/kits/world.ts'
import type { ScriptedFunction, ScriptedTurn } from '../../adapters/scripted/run-function.ts'
import type { Json } from '../../model/json.ts'

type Fields = Record<string, Json>

const never: ScriptedFunction = (turn) =>
  new Promise((_, reject) => turn.signal.addEventListener('abort', () => reject(turn.signal.reason)))

/** One turn of a boss that uses one tool, and what the tool answered. */
async function use(
  tool: string,
  input: Json,
  child: AgentSpec = {},
  more: Partial<WorldOptions> & { boss?: AgentSpec } = {},
): Promise<{ w: World; value: Fields }> {
  const { boss, ...rest } = more
  const answers: Fields[] = []
  const w = await world({
    ...rest,
    agents: {
      boss: {
        ...boss,
        script: async (turn) => {
          answers.push(valueOf(await turn.tool(tool, input)))
          return 'done'
        },
      },
      child,
    },
  })
  await w.run('boss', 'go')
  await w.pass(5000)
  expect((await replayed(w, await flowOf(w))).difference).toBeNull()
  return { w, value: answers[0] ?? {} }
}

const call = (more: object = {}): Json => ({ agent_name: 'child', task: 'part', ...more }) as Json

test('timeout_ms: 0 completed instead of ending at once', async () => {
  const ran: string[] = []
  const child: AgentSpec = { script: (turn) => (ran.push(turn.task), 'quick') }
  const { w, value } = await use('call_agent', { agent_id: 'child', message: 'part', timeout_ms: 0 }, child)
  expect(value).toMatchObject({ success: false, outcome: 'timed_out', duration_ms: 0 })
  expect(ran).toEqual([])
  expect((await w.events('turn.started')).length).toBe(1)
  expect((await use('sub_agent', call({ timeout_seconds: 0 }), child)).value).toMatchObject({
    outcome: 'timed_out',
  })
  expect(ran).toEqual([])
})

test('a timeout named the wrong limit in the wrong unit', async () => {
  const errors = async (
    tool: string,
    input: Json,
    more: Parameters<typeof use>[3] = {},
    child: AgentSpec = {},
  ) => {
    const { value } = await use(tool, input, { script: never, ...child }, more)
    return String((value['errors'] as string[] | undefined)?.[0] ?? value['error'])
  }
  expect(await errors('sub_agent', call({ timeout_seconds: 5 }))).toBe(
    'timed_out: no answer within 5 s, as timeout_seconds says; timeout_seconds may be up to 300',
  )
  expect(await errors('call_agent', { agent_id: 'child', message: 'part' })).toBe(
    'timed_out: no answer within 30000 ms, the default of call_agent; timeout_ms may be up to 300000',
  )
  expect(
    await errors('sub_agent', call({ timeout_seconds: 60 }), {}, { limits: { timeoutSeconds: 2 } }),
  ).toBe(
    'timed_out: no answer within 2 s, the limit of child itself: a larger timeout_seconds would not help',
  )
  expect(await errors('sub_agent', call({ timeout_seconds: 900 }))).toBe(
    'timed_out: no answer within 300 s, the most that a call may take here',
  )
  expect(await errors('sub_agent', call(), { limits: { turnMsMax: 20_000 } })).toBe(
    'timed_out: no answer within 19 s, all that was left of your own time: a larger timeout_seconds would not help',
  )
})

test('misspelt allowed_tools gave a toolless child without notice', async () => {
  const { value } = await use('sub_agent', call({ allowed_tools: ['reed', 'shell'] }), {
    tools: ['read'],
    script: () => 'done',
  })
  expect(value).toMatchObject({
    success: true,
    notes: [
      'allowed_tools: there is no tool "reed"; the nearest known one is "read".',
      'allowed_tools: child does not have the tool "shell".',
    ],
  })
})

test('filters that passed nothing said nothing', async () => {
  const { value } = await use('sub_agent', call({ context: { keywords: ['zebra'] } }))
  expect(value['notes']).toEqual(['No message was passed: your conversation has none that could be.'])
  const { value: summary } = await use('sub_agent', call({ context: { include_summary: true } }))
  expect(summary['notes']).toEqual(['There was nothing to summarise yet: no summary was passed.'])
})

test('workspace_files without include_workspace were ignored', async () => {
  let system = ''
  const child: AgentSpec = { script: (turn) => ((system = turn.system), 'done') }
  const { value } = await use('sub_agent', call({ context: { workspace_files: ['gone.ts'] } }), child)
  expect(system).toContain('gone.ts (missing)')
  expect(value['notes']).toEqual([
    'context.workspace_files: gone.ts does not exist here; the callee reads that it is missing.',
  ])
})

test('tool_calls listed tools that were refused', async () => {
  const child: ScriptedFunction = async (turn: ScriptedTurn) => {
    await turn.tool('read', { path: 'package.json' })
    await turn.tool('list', { path: 7 })
    await turn.tool('shell', { command: 'true' })
    await turn.tool('sub_agent', { agent_name: 'nobody', task: 'x' })
    return 'done'
  }
  const { value } = await use('sub_agent', call({ allow_nested_calls: true }), {
    tools: ['read', 'list', 'sub_agent'],
    script: child,
  })
  expect(value['tool_calls']).toEqual(['read'])
})

test('an agent with sub_agent alone was told of wait_for_call and read_output and could use neither', async () => {
  const shown: string[] = []
  const answers: Fields[] = []
  const w = await world({
    agents: {
      boss: {
        tools: ['sub_agent'],
        script: async (turn) => {
          shown.push(...turn.tools.map(({ name }) => name))
          const started = valueOf(await turn.tool('sub_agent', call({ background: true })))
          answers.push(started)
          const id = String(started['call_id'])
          answers.push(valueOf(await turn.tool('wait_for_call', { call_id: id })))
          answers.push(valueOf(await turn.tool('read_output', { call_id: id.slice(-8) })))
          answers.push(valueOf(await turn.tool('read_output', { call_id: 'last' })))
          return 'done'
        },
      },
      child: { script: () => 'result' },
    },
  })
  await w.run('boss', 'go')
  expect(shown).toEqual(['sub_agent', 'wait_for_call', 'read_output'])
  expect(answers.slice(1)).toMatchObject([{ output: 'result' }, { text: 'result' }, { text: 'result' }])
})

test('a background start did not say what to do next', async () => {
  const { value } = await use('sub_agent', call({ background: true }), { script: () => 'result' })
  expect(value['notes']).toEqual([
    expect.stringMatching(
      /^It runs in the background: .* wait_for_call with call_id "call_.*"\. It ends with your turn/,
    ),
  ])
})

test('allowed_tools took the companions of a tool away', async () => {
  const shown: string[] = []
  await use('sub_agent', call({ allowed_tools: ['sub_agent'], allow_nested_calls: true }), {
    tools: ['*'],
    script: (turn) => (shown.push(...turn.tools.map(({ name }) => name)), 'done'),
  })
  expect([...new Set(shown)]).toEqual(['sub_agent', 'wait_for_call', 'read_output'])
})

test('a call whose client went away did not say why it was cancelled', async () => {
  const w = await world({ agents: { child: { script: never } } })
  const leave = new AbortController()
  const desk = w.desks.as({ signal: leave.signal })
  const answer = desk.calls.open({ agent: 'child', task: 'part' })
  await w.rest()
  leave.abort()
  await w.until(answer)
  const { calls } = (await w.desks.as({}).calls.list()) as { calls: { error: string | null }[] }
  expect(calls[0]?.error).toBe(
    'cancelled: the turn that made it was stopped (cancelled): the client went away',
  )
})

test('a wait that would close a ring said to call again', async () => {
  const next: unknown[] = []
  const w = await world({
    agents: {
      a: {
        script: async (turn) => {
          const { call_id: id } = valueOf(
            await turn.tool('sub_agent', {
              agent_name: 'b',
              task: turn.task,
              background: true,
              allow_nested_calls: true,
            }),
          )
          await turn.tool('wait_for_call', { call_id: String(id), timeout_seconds: 20 })
          return 'done'
        },
      },
      b: {
        script: async (turn) => {
          const sessions = valueOf(await turn.tool('list-session', {}))['sessions'] as {
            id: string
            agent: string
          }[]
          const of = sessions.find(({ agent }) => agent === 'a')?.id ?? ''
          next.push(valueOf(await turn.tool('wait_for_session', { sessionId: of }))['next'])
          return 'b'
        },
      },
    },
  })
  await w.run('a', 'go')
  expect(next).toEqual([
    expect.stringMatching(
      /^Not waited for: it waits for you, in a ring \(b \(ses_.*\) -> a \(ses_.*\).*\)\. Do not wait again\./,
    ),
  ])
})
