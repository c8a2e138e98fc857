/** Calls run in parallel, up to ten at once. A call that is refused says why. */
import assert from 'node:assert/strict'
import { tieline } from '../src/index.ts'

type Answer = { outcome: string; output: string; errors: string[] }
const cities = ['Lisbon', 'Oslo', 'Naples']
const answers: Answer[] = []
const allAsked = Promise.withResolvers<void>()
let asked = 0

await using line = await tieline({
  agents: {
    // A function can be an agent too. What it does through `turn` is recorded, like the work of a model.
    guide: {
      tools: ['sub_agent'],
      allowSubAgentCalls: true,
      script: async (turn) => {
        const ask = (agent_name: string, city: string) =>
          turn.tool('sub_agent', { agent_name, task: `How is the weather in ${city}?` })
        const calls = [...cities.map((city) => ask('scout', city)), ask('diver', 'Atlantis')]
        for (const { value } of await Promise.all(calls)) answers.push(value as Answer)
        return 'I asked everybody.'
      },
    },
    // Nobody answers before everybody was asked: one after the other, they would wait for ever.
    scout: {
      script: async ({ task }) => {
        asked += 1
        if (asked === cities.length) allAsked.resolve()
        await allAsked.promise
        return `${task} Fine.`
      },
    },
  },
})

assert.equal((await line.run('guide', 'Where is the sun?', { timeoutMs: 30_000 })).success, true)
assert.deepEqual(
  answers.map((answer) => answer.outcome),
  ['completed', 'completed', 'completed', 'refused'],
)
assert.equal(answers[0]?.output, 'How is the weather in Lisbon? Fine.')
assert.deepEqual(answers[3]?.errors, ['There is no agent "diver". Known agents: guide, scout.'])
console.log(`${asked} calls ran at once. The fourth was refused: ${answers[3]?.errors[0]}`)
