/** One agent calls another, and the record shows what was passed. */
import assert from 'node:assert/strict'
import { isRefusal, tieline } from '../src/index.ts'

const request = { agent_name: 'translator', task: 'Translate to French.', input: 'good morning' }
await using line = await tieline({
  agents: {
    // With a model this would be { model: 'anthropic/claude-…', prompt: '…' }. A script replaces the model
    // here, so that the example runs anywhere.
    editor: {
      prompt: 'You edit texts.',
      tools: ['sub_agent'],
      allowSubAgentCalls: true,
      script: [
        { when: { iteration: 1 }, tools: [{ name: 'sub_agent', input: request }] },
        { say: 'In French: {{result.output}}' },
      ],
    },
    translator: { description: 'translates', prompt: 'You translate.', script: [{ say: 'bonjour' }] },
  },
})

const run = line.run('editor', 'How do the French greet in the morning?')
let call = ''
for await (const { event } of run) if (event.type === 'call.opened') call = event.call
assert.equal((await run).output, 'In French: bonjour')

// The record of a call has the caller, the task, what the callee was shown, and how it ended.
const record = await line.calls.get(call)
assert.ok(!isRefusal(record))
assert.deepEqual([record.caller, record.target, record.outcome], ['editor', 'translator', 'completed'])
assert.equal(record.output, 'bonjour')
assert.deepEqual(Object.keys(record.context?.parts ?? {}), ['prompt', 'task'])
console.log(`${record.caller} -> ${record.target}: ${record.output}`)
console.log(`It used ${record.tokensUsed} tokens; its context had ${record.context?.tokens}.`)
