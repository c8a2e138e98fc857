/**
 * Your own tool: a zod schema and a function. A model is shown the schema; what does not fit it is refused
 * before your function runs.
 */
import assert from 'node:assert/strict'
import { z } from 'zod'
import { defineAgent, defineTool, tieline, type Json } from '../src/index.ts'

const prices: Record<string, number> = { apple: 2, pear: 3 }

const price = defineTool({
  name: 'price',
  description: 'Tells what some fruit costs.',
  input: z.object({ fruit: z.string(), count: z.number().int().min(1).default(1) }),
  effect: 'read',
  run({ fruit, count }) {
    const each = prices[fruit]
    // The model reads why.
    if (each === undefined) throw new Error(`no ${fruit} today; there is ${Object.keys(prices).join(', ')}`)
    return { total: each * count }
  },
})

const shop = defineAgent({
  tools: ['price'],
  script: async (turn) => JSON.stringify((await turn.tool('price', turn.input)).value),
})

await using line = await tieline({ tools: [price], agents: { shop } })
const ask = (input: Json) => line.calls.open({ agent: 'shop', task: 'What does it cost?', input })

const answers = [
  await ask({ fruit: 'pear', count: 4 }),
  await ask({ fruit: 'kiwi' }),
  await ask({ fruit: 7 }),
]
const [known, unknown, wrong] = answers.map((answer) => ('output' in answer ? answer.output : answer.code))
assert.equal(known, '{"total":12}')
assert.match(unknown ?? '', /no kiwi today; there is apple, pear/)
assert.match(wrong ?? '', /fruit: 7 was given, but it must be /)
console.log(`${known}\n${unknown}\n${wrong}`)
