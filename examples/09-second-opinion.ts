/** A second opinion from another vendor, as data, before anything is done. Yours may be codex and claude. */
import assert from 'node:assert/strict'
import { tieline } from '../src/index.ts'

type Answer = { outcome: string; output: string; errors: string[] }
const opinion = {
  type: 'object',
  properties: { agree: { type: 'boolean' }, why: { type: 'string' } },
  required: ['agree', 'why'],
  additionalProperties: false,
}

await using line = await tieline({
  agents: {
    // With `driver: 'acp', preset: 'codex'` this is a program on your machine.
    codex: {
      script: async ({ task }) =>
        JSON.stringify(
          task.includes('delete the cache')
            ? { agree: false, why: 'Two other services read that cache.' }
            : { agree: true, why: 'I see nothing against it.' },
        ),
    },
    planner: {
      tools: ['sub_agent'],
      allowSubAgentCalls: true,
      script: async (turn) => {
        const { value } = await turn.tool('sub_agent', {
          agent_name: 'codex',
          task: `Another agent plans this. Do you agree?\n${turn.task}`,
          output_schema: opinion,
        })
        // An answer that does not fit the schema is no opinion.
        const { outcome, output, errors } = value as Answer
        if (outcome !== 'completed') return `Not decided: ${errors.join(' ')}`
        const { agree, why } = JSON.parse(output) as { agree: boolean; why: string }
        return agree ? `Done: ${turn.task}` : `Not done. ${why}`
      },
    },
  },
})

const ask = async (task: string): Promise<string> =>
  (await line.run('planner', task, { timeoutMs: 30_000 })).output
assert.equal(await ask('rename a variable'), 'Done: rename a variable')
assert.equal(await ask('delete the cache'), 'Not done. Two other services read that cache.')
console.log('asked twice, and once the answer was no')
