import { describe, expect, test } from 'vitest'
import { flowOf, replayed } from '../../test/kits/replay.ts'
import { world, type AgentSpec, type WorldOptions } from '../../test/kits/world.ts'
import type { ScriptedFunction } from '../adapters/scripted/run-function.ts'
import type { Json } from '../model/json.ts'
import { canonical } from '../model/json.ts'

const never: ScriptedFunction = (turn) =>
  new Promise((_, reject) => turn.signal.addEventListener('abort', () => reject(turn.signal.reason)))

type Asked = { value: string; ok: boolean; equal: boolean }

/** What the caller's model reads, byte for byte, without clock fields and ids. */
const normalised = (value: Json): string =>
  JSON.stringify(value, (name, part: unknown) =>
    name === 'duration_ms' ? 0 : name === 'correlation_id' ? 'call_…' : part,
  ).replaceAll(/call_[a-z0-9]{8,}/g, 'call_…')

async function once(child: AgentSpec, input: Json, more: Partial<WorldOptions>): Promise<Asked> {
  const answers: { ok: boolean; value: Json }[] = []
  const boss: ScriptedFunction = async (turn) => {
    answers.push(await turn.tool('subagent', input))
    return 'done'
  }
  const w = await world({
    ...more,
    agents: { boss: { script: boss }, child, ...more.agents },
    subagent: more.subagent ?? 'child',
  })
  await w.run('boss', 'go')
  await w.pass(5000)
  const result = await replayed(w, await flowOf(w))
  expect(result.difference).toBeNull()
  const [answer] = answers
  return { value: normalised(answer?.value ?? null), ok: answer?.ok ?? false, equal: result.equal }
}

/** Two runs and a replay of each: the same bytes every time. */
async function fixed(
  child: AgentSpec,
  input: Json = { task: 'look around' },
  more: Partial<WorldOptions> = {},
): Promise<string> {
  const [first, second] = [await once(child, input, more), await once(child, input, more)]
  expect(second).toEqual(first)
  expect(first.equal).toBe(true)
  expect(Object.keys(JSON.parse(first.value) as object)).toEqual([
    'success',
    'summary',
    'artifacts',
    'error',
    'timed_out',
    'duration_ms',
    'truncated',
    'iterations',
    'correlation_id',
  ])
  expect(first.ok).toBe((JSON.parse(first.value) as { success: boolean }).success)
  return first.value
}

const answer = (more: object): string =>
  JSON.stringify({
    success: false,
    summary: '',
    artifacts: [],
    error: null,
    timed_out: false,
    duration_ms: 0,
    truncated: false,
    iterations: 0,
    correlation_id: 'call_…',
    ...more,
  })

describe('subagent answers with a fixed payload, the same bytes in every run', () => {
  test('success with plain text', async () =>
    expect(await fixed({ script: () => 'three files' })).toBe(
      answer({ success: true, summary: 'three files' }),
    ))

  test('success with artifacts', async () => {
    expect(
      await fixed({
        script: async (turn) =>
          turn.think(
            '{ "artifacts": [{ "value": { "b": 1, "a": 2 }, "kind": "json" }, ' +
              '{ "kind": "path", "value": "a.ts" }], "summary": "found" }',
          ),
      }),
    ).toBe(
      answer({
        success: true,
        summary: 'found',
        artifacts: [
          { kind: 'json', value: '{"b":1,"a":2}' },
          { kind: 'path', value: 'a.ts' },
        ],
        iterations: 1,
      }),
    )
  })

  test('timeout, with what had been said', async () => {
    const child: ScriptedFunction = async (turn) => {
      turn.say('half way')
      return never(turn)
    }
    expect(await fixed({ script: child }, { task: 'look around', timeout_seconds: 1 })).toBe(
      answer({
        summary: 'half way',
        error: 'timed_out: no answer within 1 s, as timeout_seconds says; timeout_seconds may be up to 300',
        timed_out: true,
      }),
    )
  })

  test('a timeout of no time at all', async () => {
    expect(await fixed({ script: never }, { task: 'look around', timeout_seconds: 0 })).toBe(
      answer({
        error: 'timed_out: no answer within 0 s, as timeout_seconds says; timeout_seconds may be up to 300',
        timed_out: true,
      }),
    )
  })

  test.each([
    ['a field too many', '{"summary":"x","artifacts":[],"more":1}', 'it is not { summary, artifacts }'],
    ['artifacts that are none', '{"summary":"x","artifacts":["y"]}', 'it is not { summary, artifacts }'],
    [
      'an artifact of another kind',
      '{"summary":"x","artifacts":[{"kind":"image","value":"y"}]}',
      'artifact kind "image" is not one of note, path, diff, json',
    ],
  ])('malformed output: %s', async (_name, output, why) => {
    expect(await fixed({ script: () => output })).toBe(
      answer({ error: `output_invalid: the subagent's answer is malformed: ${why}` }),
    )
  })
})

describe('subagent without a useful child answers with the same keys', () => {
  test('no output', async () =>
    expect(await fixed({ script: () => '  ' })).toBe(answer({ error: 'empty_output' })))

  test('child unavailable: its agent is not configured', async () => {
    expect(await fixed({}, { task: 'look around' }, { subagent: 'nobody' })).toBe(
      answer({ error: 'There is no agent "nobody". Known agents: boss, child.' }),
    )
  })

  test('child unavailable: its driver cannot start', async () => {
    expect(
      await fixed({ driver: { run: async () => Promise.reject(new Error('the program is not installed')) } }),
    ).toBe(answer({ error: 'the program is not installed' }))
  })

  test('child unavailable: it breaks on the way', async () => {
    expect(
      await fixed({
        script: async (turn) => {
          await turn.think('so far')
          throw new Error('broken')
        },
      }),
    ).toBe(answer({ summary: 'so far', error: 'script_failed: broken', iterations: 1 }))
  })

  test('output over what a model is shown: head and tail, and how to read the rest', async () => {
    const value = JSON.parse(await fixed({ script: () => `BEGIN ${'word '.repeat(5000)}END` })) as {
      summary: string
      success: boolean
      truncated: boolean
    }
    expect(value).toMatchObject({ success: true, truncated: true, error: null })
    expect(value.summary).toMatch(/^BEGIN word[\s\S]*\[… cut: [\s\S]* …\][\s\S]*END$/)
    expect(value.summary).toContain(
      '[… cut: the whole output has 25009 characters; read_output with call_id "call_…" reads it …]',
    )
  })

  test('output over what is stored: cut, and marked', async () => {
    const value = await fixed(
      { script: () => 'x'.repeat(500) },
      { task: 'look around' },
      { limits: { resultBytesMax: 100 } },
    )
    expect(value).toBe(answer({ success: true, summary: 'x'.repeat(100), truncated: true }))
  })
})

describe('subagent at its limits answers with the same keys', () => {
  test('depth: a subagent of a subagent is refused', async () => {
    const inner: string[] = []
    const child: ScriptedFunction = async (turn) => {
      const { value } = await turn.tool('subagent', { task: 'deeper' })
      inner.push(normalised(value))
      return String((value as { error: string }).error)
    }
    expect(await fixed({ script: child })).toBe(
      answer({
        success: true,
        summary: 'This call would be 2 hops deep; subagent allows 1. Do this part yourself.',
      }),
    )
    // Each run asked once, and each replay once more.
    expect(new Set(inner)).toEqual(
      new Set([
        answer({ error: 'This call would be 2 hops deep; subagent allows 1. Do this part yourself.' }),
      ]),
    )
  })

  test('iterations used up', async () => {
    const child: AgentSpec = {
      driver: {
        async run(turn, steps) {
          for (let n = 0; n < turn.maxIterations; n += 1)
            await steps.step('model', 'm', { n }, async () => ({ value: { text: 'again' }, usage: null }))
          return {
            outcome: 'failed',
            output: '',
            error: `iteration limit of ${turn.maxIterations} reached`,
            iterations: turn.maxIterations,
          }
        },
      },
    }
    expect(await fixed(child, { task: 'look around', max_iterations: 2 })).toBe(
      answer({ error: 'iteration limit of 2 reached', iterations: 2 }),
    )
  })

  test('bad input names the field', async () => {
    expect(await fixed({}, { task: '  ' })).toBe(
      answer({
        error: 'task: "  " was given, but it must be a text that says what to do. Correct it and try again.',
      }),
    )
    expect(await fixed({}, { task: 'x', files: 'a.ts' })).toBe(
      answer({
        error: 'files: "a.ts" was given, but it must be a list. Correct it and try again.',
      }),
    )
  })
})

test('every call logs its correlation id, task hash, times and status, also one that was refused', async () => {
  const w = await world({
    agents: {
      boss: {
        script: async (turn) => {
          await turn.tool('subagent', { task: 'one' })
          await turn.tool('subagent', { task: '' })
          return 'done'
        },
      },
      child: {},
    },
    subagent: 'child',
  })
  await w.run('boss', 'go')
  const [opened] = await w.events('call.opened')
  const [ended] = await w.events('call.ended')
  const [refused] = await w.events('call.refused')
  expect(opened?.event).toMatchObject({
    call: ended?.event.call,
    tool: 'subagent',
    task: 'one',
    taskHash: expect.stringMatching(/^[\w-]{43}$/),
  })
  expect(ended?.event).toMatchObject({
    outcome: 'completed',
    openedAt: opened?.at,
    endedAt: expect.any(Number),
  })
  expect(refused?.event).toMatchObject({
    tool: 'subagent',
    taskHash: expect.stringMatching(/^[\w-]{43}$/),
    requested: { task: '' },
    refusal: { code: 'bad_input' },
  })
  expect(canonical(refused?.event.requested)).toBe('{"task":""}')
})
