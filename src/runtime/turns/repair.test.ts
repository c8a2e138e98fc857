/** What callers ran into with output_schema in 0.1.0. */
import { expect, test } from 'vitest'
import { flowOf, replayed } from '../../../test/kits/replay.ts'
import { valueOf, world, type World } from '../../../test/kits/world.ts'
import type { Json } from '../../model/json.ts'

const schema = { type: 'object', required: ['n'], properties: { n: { type: 'number' } } }

async function ask(
  answers: string[],
  more: object = {},
): Promise<{ w: World; value: Record<string, Json>; prompts: string[] }> {
  const prompts: string[] = []
  let value: Record<string, Json> = {}
  const w = await world({
    agents: {
      boss: {
        script: async (turn) => {
          const input = { agent_name: 'child', task: 'count', output_schema: schema, ...more }
          value = valueOf(await turn.tool('sub_agent', input))
          return 'done'
        },
      },
      child: {
        script: (turn) => {
          prompts.push(turn.prompt)
          return turn.think(answers[turn.prompt.includes('Your last answer was') ? 1 : 0] ?? '')
        },
      },
    },
  })
  await w.run('boss', 'go')
  const asked = [...prompts]
  expect((await replayed(w, await flowOf(w))).difference).toBeNull()
  return { w, value, prompts: asked }
}

test('the first attempt did not see the schema', async () => {
  const { prompts, value } = await ask(['{"n":1}'])
  expect(prompts[0]).toContain('Answer with JSON that satisfies this schema, and nothing else:')
  expect(prompts[0]).toContain(JSON.stringify(schema))
  expect(value).toMatchObject({ success: true, output: '{"n":1}' })
})

test('fenced JSON passed with its fences', async () => {
  const { prompts, value } = await ask(['```json\n{"n": 2}\n```'])
  expect(value).toMatchObject({ success: true, output: '{"n": 2}' })
  expect(prompts.length).toBe(1)
})

test('a failed repair returned both attempts joined', async () => {
  const { value, prompts } = await ask(['first words', 'second words'])
  expect(value).toMatchObject({ success: false, outcome: 'failed', output: 'second words' })
  expect((value['errors'] as string[])[0]).toMatch(/^output_invalid: /)
  expect(prompts.length).toBe(2)
})

test('max_context_tokens was exceeded by the repair', async () => {
  const { w, value, prompts } = await ask(['long '.repeat(1000), '{"n":3}'], { max_context_tokens: 200 })
  expect(value).toMatchObject({ success: true, output: '{"n":3}' })
  expect(prompts.length).toBe(2)
  expect(w.node.runtime.count(prompts[1] ?? '')).toBeLessThanOrEqual(200)
})

test('a repair for which there is no room is not tried, and the answer says so', async () => {
  const { w } = await ask(['{"n":1}'])
  const { tokens } = (await w.events('call.opened'))[0]?.event.context ?? { tokens: 0 }
  const { value, prompts } = await ask(['no json'], { max_context_tokens: tokens })
  expect(prompts.length).toBe(1)
  expect(value).toMatchObject({ outcome: 'failed', output: 'no json' })
  expect((value['errors'] as string[])[0]).toContain('max_context_tokens leaves no room')
})
