import { expect, test } from 'vitest'
import { valueOf, world } from '../../test/kits/world.ts'
import type { ScriptedFunction } from '../adapters/scripted/run-function.ts'
import type { Json } from '../model/json.ts'

test('a background call returns its id at once, and wait_for_call its result in the shape of sub_agent', async () => {
  const boss: ScriptedFunction = async (turn) => {
    const started = valueOf(
      await turn.tool('sub_agent', { agent_name: 'child', task: 'work', background: true }),
    )
    const early = valueOf(
      await turn.tool('wait_for_call', { call_id: started['call_id'] as string, timeout_seconds: 1 }),
    )
    const late = valueOf(await turn.tool('wait_for_call', { call_id: started['call_id'] as string }))
    return JSON.stringify([started, early, late])
  }
  const w = await world({
    agents: {
      boss: { script: boss },
      child: {
        script: async (turn) => {
          turn.say('half')
          await w.clock.sleep(5000)
          return 'all'
        },
      },
    },
  })
  const [started, early, late] = JSON.parse((await w.run('boss', 'go')).output)
  expect(started).toMatchObject({ success: false, outcome: null, agent_name: 'child' })
  expect(early).toMatchObject({ call_id: started.call_id, outcome: null, partial: 'half' })
  expect(late).toMatchObject({ call_id: started.call_id, outcome: 'completed', output: 'all', success: true })
  expect(w.clock.now() - 1_800_000_000_000).toBeLessThan(5100)
})

test('a background call that nobody waited for ends with the turn that made it', async () => {
  const w = await world({
    agents: {
      boss: {
        script: async (turn) => {
          await turn.tool('sub_agent', { agent_name: 'child', task: 'work', background: true })
          return 'gone'
        },
      },
      child: {
        script: (turn) =>
          new Promise((_, reject) => turn.signal.addEventListener('abort', () => reject(turn.signal.reason))),
      },
    },
  })
  expect((await w.run('boss', 'go')).output).toBe('gone')
  await w.pass(3000)
  expect((await w.events('call.ended')).map(({ event }) => event.outcome)).toEqual(['cancelled'])
  expect(w.node.runtime.running.size).toBe(0)
})

test('nobody can wait for or read the call of somebody else', async () => {
  const w = await world({
    agents: {
      a: {
        script: async (turn) =>
          String(valueOf(await turn.tool('sub_agent', { agent_name: 'b', task: 'work' }))['call_id']),
      },
      thief: {
        script: async (turn) =>
          JSON.stringify([
            (await turn.tool('wait_for_call', { call_id: turn.task })).value,
            (await turn.tool('read_output', { call_id: turn.task })).value,
          ]),
      },
      b: {},
    },
  })
  const { output: call } = await w.run('a', 'go')
  const [waited, read] = JSON.parse((await w.run('thief', call)).output)
  expect(waited.error.code).toBe('call_unknown')
  expect(read.error.code).toBe('call_unknown')
})

test('a result of 1 MiB is stored whole, shown in 2,500 tokens, and read on with read_output', async () => {
  const big = `BEGIN ${'schön 🦓 text '.repeat(70_000)} END`
  const boss: ScriptedFunction = async (turn) => {
    const value = valueOf(await turn.tool('sub_agent', { agent_name: 'child', task: 'much' }))
    let text = ''
    for (let offset: Json = 0; offset !== null;) {
      const part = valueOf(
        await turn.tool('read_output', { call_id: value['call_id'] as string, offset, limit: 40_000 }),
      )
      text += String(part['text'])
      offset = part['next_offset'] as Json
    }
    return JSON.stringify({ shown: value, whole: text.length, same: big.startsWith(text) })
  }
  const w = await world({ agents: { boss: { script: boss }, child: { script: () => big } } })
  const { shown, whole, same } = JSON.parse((await w.run('boss', 'go')).output)
  const { loadTokenizer } = await import('../adapters/tokens/tokenizer.ts')
  expect((await loadTokenizer())(shown.output)).toBeLessThanOrEqual(2500)
  expect(shown.output.startsWith('BEGIN ')).toBe(true)
  expect(shown).toMatchObject({ truncated: true, success: true })
  expect(shown.output.isWellFormed()).toBe(true)
  expect(same).toBe(true)
  const [ended] = await w.events('call.ended')
  expect(Buffer.byteLength(ended?.event.output ?? '')).toBeLessThanOrEqual(1_048_576)
  expect(Buffer.byteLength(ended?.event.output ?? '')).toBeGreaterThan(1_048_570)
  expect(ended?.event).toMatchObject({ truncated: true, outputBytes: Buffer.byteLength(big) })
  expect(whole).toBe(ended?.event.output.length)
})

test('output_schema is enforced with one repair attempt, then output_invalid', async () => {
  const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] }
  const ask: ScriptedFunction = async (turn) =>
    JSON.stringify(
      (await turn.tool('sub_agent', { agent_name: turn.task, task: 'judge', output_schema: schema })).value,
    )
  const prompts: string[] = []
  const w = await world({
    agents: {
      boss: { script: ask },
      good: { script: () => '```json\n{"ok":true}\n```' },
      learner: {
        script: (turn) => {
          prompts.push(turn.prompt)
          return prompts.length === 1 ? 'fine!' : '{"ok":false}'
        },
      },
      never: { script: () => '{"ok":"maybe"}' },
    },
  })
  expect(JSON.parse((await w.run('boss', 'good')).output)).toMatchObject({ success: true })
  expect(JSON.parse((await w.run('boss', 'learner')).output)).toMatchObject({
    success: true,
    output: '{"ok":false}',
  })
  expect(prompts[1]).toContain('the output is not JSON')
  const never = JSON.parse((await w.run('boss', 'never')).output)
  expect(never).toMatchObject({ success: false, outcome: 'failed' })
  expect(never.errors[0]).toContain('output_invalid')
  expect(never.errors[0]).toContain('/ok must be boolean')
})

const bounded =
  (input: object): ScriptedFunction =>
  async (turn) =>
    JSON.stringify((await turn.tool('subagent', { task: 'look', ...input } as never)).value)
const keys = [
  'success',
  'summary',
  'artifacts',
  'error',
  'timed_out',
  'duration_ms',
  'truncated',
  'iterations',
  'correlation_id',
]

test('subagent runs its caller again in a fresh context, once deep, with the same keys in every outcome', async () => {
  const script: ScriptedFunction = async (turn) => {
    if (turn.task === 'go') return bounded({ context: 'know this', files: ['a.ts'] })(turn)
    return `${turn.prompt} / ${turn.history.length} / ${await bounded({ task: 'deeper' })(turn)}`
  }
  const w = await world({ agents: { a: { script } } })
  const value = JSON.parse((await w.run('a', 'go')).output)
  expect(Object.keys(value)).toEqual(keys)
  expect(value.summary).toMatch(
    /^<(\d{3})>\n\[Called by: a\]\nTask: look\nContext: know this\nFiles:\n- a\.ts \(missing\)\n<\/\1>\n\n/,
  )
  expect(value.summary).toMatch(/\n\nWhen you are done, [^\n]* \/ 0 \/ /)
  expect(value.summary).toContain('subagent allows 1')
})

test.each([
  [
    '{"summary":"done","artifacts":[{"kind":"path","value":"a.ts"}]}',
    { success: true, summary: 'done', artifacts: [{ kind: 'path', value: 'a.ts' }], error: null },
  ],
  ['{"summary":"done"', { success: true, summary: '{"summary":"done"', artifacts: [], error: null }],
  [
    '{"summary":"x","artifacts":[{"kind":"virus","value":"y"}]}',
    {
      success: false,
      error:
        "output_invalid: the subagent's answer is malformed: " +
        'artifact kind "virus" is not one of note, path, diff, json',
    },
  ],
  ['plain words', { success: true, summary: 'plain words', artifacts: [], error: null }],
])('subagent reads the answer %s in its fixed way', async (answer, expected) => {
  const w = await world({
    agents: { a: { script: bounded({}) }, helper: { script: () => answer } },
    subagent: 'helper',
  })
  const value = JSON.parse((await w.run('a', 'go')).output)
  expect(Object.keys(value)).toEqual(keys)
  expect(value).toMatchObject(expected)
})

test('subagent times out with a fixed payload', async () => {
  const w = await world({
    agents: {
      a: { script: bounded({ timeout_seconds: 2 }) },
      helper: {
        script: async (turn) => {
          await turn.think('begun')
          return new Promise(() => undefined)
        },
      },
    },
    subagent: 'helper',
  })
  expect(JSON.parse((await w.run('a', 'go')).output)).toMatchObject({
    success: false,
    summary: 'begun',
    artifacts: [],
    timed_out: true,
    duration_ms: 2000,
    truncated: false,
    iterations: 1,
  })
})

test('call_agent speaks to the main session of an agent, which remembers, and tells the chain', async () => {
  const w = await world({
    agents: {
      a: {
        script: async (turn) =>
          JSON.stringify((await turn.tool('call_agent', { agent_id: 'b', message: turn.task })).value),
      },
      b: { script: (turn) => `${turn.history.length} before: ${turn.task}` },
    },
  })
  await w.run('a', 'first')
  const value = JSON.parse((await w.run('a', 'second')).output)
  expect(value).toMatchObject({
    agent_id: 'b',
    success: true,
    response: '2 before: second',
    error: null,
    outcome: 'completed',
    call_chain: ['a', 'b'],
    truncated: false,
  })
  expect(Object.keys(value)).toEqual([
    'agent_id',
    'success',
    'response',
    'error',
    'outcome',
    'call_id',
    'duration_ms',
    'call_chain',
    'truncated',
  ])
})
