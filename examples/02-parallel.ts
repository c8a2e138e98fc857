/** Calls run in parallel, up to ten at once. A call that is refused says why. */
import assert from 'node:assert/strict'
import { tieline } from '../src/index.ts'

const cities = ['Lisbon', 'Oslo', 'Naples']
const pauseMs = 400

await using line = await tieline({
  agents: {
    // A function can be an agent too. What it does through `turn` is recorded, like the work of a model.
    guide: {
      tools: ['sub_agent'],
      allowSubAgentCalls: true,
      script: async (turn) => {
        const answers = await Promise.all(
          [...cities, 'Atlantis'].map((city) =>
            turn.tool('sub_agent', {
              agent_name: city === 'Atlantis' ? 'diver' : 'scout',
              task: `How is the weather in ${city}?`,
            }),
          ),
        )
        return JSON.stringify(answers.map((answer) => answer.value))
      },
    },
    scout: { script: [{ delayMs: pauseMs, say: '{{task}} Fine.' }] },
  },
})

const result = await line.run('guide', 'Where is the sun?')
const answers = JSON.parse(result.output) as { outcome: string; output: string; errors: string[] }[]

assert.deepEqual(
  answers.map((answer) => answer.outcome),
  ['completed', 'completed', 'completed', 'refused'],
)
assert.equal(answers[0]?.output, 'How is the weather in Lisbon? Fine.')
assert.deepEqual(answers[3]?.errors, ['There is no agent "diver". Known agents: guide, scout.'])
assert.ok(
  result.durationMs < pauseMs * cities.length,
  `in parallel they take ${pauseMs} ms, not ${result.durationMs} ms`,
)
console.log(`${cities.length} calls of ${pauseMs} ms each took ${result.durationMs} ms in all`)
console.log(`The fourth was refused: ${answers[3]?.errors[0]}`)
