/** Two agents review one diff at the same time, and a third merges what they found. Yours may be codex and claude. */
import assert from 'node:assert/strict'
import { tieline } from '../src/index.ts'

type Answer = { outcome: string; output: string }
const diff = '- if (a = b) return\n+ if (a === b) return'
const reviewer = (finding: string) => ({
  script: async ({ task }: { task: string }) => (task.includes(diff) ? finding : 'I was given no diff.'),
})

await using line = await tieline({
  agents: {
    // With `driver: 'acp', preset: 'codex'` and `preset: 'claude'` these are programs on your machine.
    codex: reviewer('The comparison is right now.'),
    claude: reviewer('Add a test for equal values.'),
    lead: {
      tools: ['sub_agent'],
      allowSubAgentCalls: true,
      script: async (turn) => {
        const review = (agent_name: string) =>
          turn.tool('sub_agent', { agent_name, task: `Review this diff:\n${turn.task}` })
        const reviews = await Promise.all(['codex', 'claude'].map(review))
        return reviews.map(({ value }, n) => `${n + 1}. ${(value as Answer).output}`).join('\n')
      },
    },
  },
})

const { output, success } = await line.run('lead', diff, { timeoutMs: 30_000 })
assert.equal(success, true)
assert.equal(output, '1. The comparison is right now.\n2. Add a test for equal values.')
console.log(output)
