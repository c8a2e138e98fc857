/** Calls of one answer run side by side; ten may be open at once, and one that may not be made says why. */
import assert from 'node:assert/strict'
import { tieline } from '../src/index.ts'

const cities = ['Lisbon', 'Oslo', 'Naples']
const pauseMs = 400

await using line = await tieline({
  agents: {
    // A function can be an agent too; what it does through `turn` is recorded like a model's work.
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
  `side by side they take ${pauseMs} ms, not ${result.durationMs} ms`,
)
console.log(
  `${cities.length} calls of ${pauseMs} ms took ${result.durationMs} ms together; the fourth was refused: ${answers[3]?.errors[0]}`,
)
