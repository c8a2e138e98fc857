/**
 * Schemas from outside at the runtime's own face: a hostile one is an outcome of its call, never a stall of
 * the process.
 */
import { beforeAll, expect, test } from 'vitest'
import type { ScriptedFunction } from '../../src/adapters/scripted/run-function.ts'
import { loadTokenizer } from '../../src/adapters/tokens/tokenizer.ts'
import type { Json } from '../../src/model/json.ts'
import type { SchemaCheck } from '../../src/runtime/kernel/ports.ts'
import { openLine } from '../../src/open-line.ts'
import { longestStall } from '../kits/linear.ts'
import { flowOf, replayed } from '../kits/replay.ts'
import { world } from '../kits/world.ts'

const callWith =
  (schema: Json): ScriptedFunction =>
  async (turn) =>
    JSON.stringify(
      (
        await turn.tool('sub_agent', {
          agent_name: 'child',
          task: 'judge',
          output_schema: schema,
          timeout_seconds: 20,
        })
      ).value,
    )
const parent = (schema: Json) => ({
  script: callWith(schema),
  tools: ['sub_agent'],
  allowSubAgentCalls: true,
})

// Its table takes a moment to load, which is no part of what is measured here.
beforeAll(async () => void (await loadTokenizer()))

type Answer = { success: boolean; outcome: string; errors: string[] }

async function ask(schema: Json, says: string): Promise<{ answer: Answer; stallMs: number; ms: number }> {
  await using line = await openLine({
    agents: { parent: parent(schema), child: { script: () => says } },
    onWarning: () => undefined,
  })
  const startedAt = performance.now()
  let output = ''
  const stallMs = await longestStall(async () => {
    output = (await line.run('parent', 'go')).output
  })
  return { answer: JSON.parse(output) as Answer, stallMs, ms: performance.now() - startedAt }
}

test('a pattern that backtracks for ever ends its call as output_invalid, and the process answers', async () => {
  const { answer, stallMs, ms } = await ask({ type: 'string', pattern: '^(a+)+$' }, `"${'a'.repeat(45)}!"`)
  expect(answer).toMatchObject({
    success: false,
    outcome: 'failed',
    errors: [expect.stringContaining('did not end within')],
  })
  expect(answer.errors[0]).toContain('output_invalid')
  expect(ms).toBeLessThan(15_000)
  expect(stallMs).toBeLessThan(200)
})

test.each([
  [
    'of 980 KB',
    {
      anyOf: Array.from({ length: 20_000 }, (_, index) => ({
        const: `value number ${index} of the enumeration`,
      })),
    },
    '65536 bytes',
  ],
  [
    'that is very deep',
    (() => {
      let schema: Json = {}
      for (let depth = 0; depth < 100; depth += 1) schema = { not: schema }
      return schema
    })(),
    '64 levels',
  ],
  ['with $async', { $async: true, type: 'object' }, '$async'],
])('an output_schema %s is refused with the bound that it exceeds, at once', async (_name, schema, says) => {
  const { answer, ms } = await ask(schema, '"x"')
  expect(answer).toMatchObject({ outcome: 'refused', errors: [expect.stringContaining('output_schema')] })
  expect(answer.errors[0]).toContain(says)
  expect(ms).toBeLessThan(8000)
})

test('R10: a check that did not end in time is on record, and a faster replay goes the same way', async () => {
  const unfinished: SchemaCheck = { kind: 'unfinished', why: 'the check took too long' }
  let slow = true
  const checks: (string | null)[] = []
  const w = await world({
    agents: {
      parent: parent({ type: 'object' }),
      child: {
        script: async (turn) =>
          turn.think(turn.prompt.includes('Problems:') ? '{"second":2}' : '{"first":1}'),
      },
    },
    schemas: {
      async check(_schema, output) {
        checks.push(output)
        return slow && output !== null && output.includes('first')
          ? unfinished
          : { kind: 'checked', problems: [] }
      },
    },
  })
  expect((await w.run('parent', 'go')).output).toContain('second')
  const recorded = (await w.events('step.ended')).filter(({ event }) => event.name === 'output_schema')
  expect(recorded.map(({ event }) => event.output)).toEqual([['the check took too long']])
  slow = false
  expect(await replayed(w, await flowOf(w))).toMatchObject({ difference: null, equal: true })
  expect(checks.filter((output) => output?.includes('first'))).toHaveLength(1)
})

test('R10: a schema that was refused because it took too long is refused again by a replay', async () => {
  let slow = true
  const w = await world({
    agents: { parent: parent({ type: 'object' }), child: { script: () => '{}' } },
    schemas: {
      check: async () => (slow ? { kind: 'unfinished', why: 'too slow' } : { kind: 'checked', problems: [] }),
    },
  })
  expect((await w.run('parent', 'go')).output).toContain('too slow')
  slow = false
  expect(await replayed(w, await flowOf(w))).toMatchObject({ difference: null, equal: true })
})
