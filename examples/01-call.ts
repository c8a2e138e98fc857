/** One agent calls another, and the record says what was passed. */
import assert from 'node:assert/strict'
import { tieline } from '../src/index.ts'

await using line = await tieline({
  agents: {
    // With a model: { model: 'anthropic/claude-…', prompt: '…' }. A script stands in for it here, so that
    // this runs anywhere.
    editor: {
      prompt: 'You edit texts.',
      tools: ['sub_agent'],
      allowSubAgentCalls: true,
      script: [
        {
          when: { iteration: 1 },
          tools: [
            {
              name: 'sub_agent',
              input: { agent_name: 'translator', task: 'Translate to French.', input: 'good morning' },
            },
          ],
        },
        { say: 'In French: {{result.output}}' },
      ],
    },
    translator: { description: 'translates', prompt: 'You translate.', script: [{ say: 'bonjour' }] },
  },
})

const run = line.run('editor', 'How do the French greet in the morning?')
const calls: string[] = []
for await (const { event } of run) {
  if (event.type === 'call.opened') calls.push(event.call)
}
const result = await run

assert.equal(result.success, true)
assert.equal(result.output, 'In French: bonjour')

// Who, what, what the child was shown, how it ended: all of it is in the call's record.
const [call = ''] = calls
const record = await line.call(call)
assert.equal(record?.caller, 'editor')
assert.equal(record.target, 'translator')
assert.equal(record.outcome, 'completed')
assert.equal(record.output, 'bonjour')
assert.deepEqual(Object.keys(record.context?.parts ?? {}), ['prompt', 'task'])
console.log(
  `${record.caller} -> ${record.target}: ${record.output} (${record.tokensUsed} tokens; its context was ${record.context?.tokens})`,
)
