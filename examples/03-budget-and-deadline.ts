/** A deadline ends a call with what it said so far. A budget ends it before the next model request. */
import assert from 'node:assert/strict'
import { isRefusal, tieline } from '../src/index.ts'

await using line = await tieline({
  agents: {
    silent: {
      script: async (turn) => {
        turn.say('The first half.')
        return new Promise<string>(() => undefined)
      },
    },
    endless: {
      script: async (turn) => {
        for (;;) await turn.think('Once upon a time there was a king who told a story.')
      },
    },
  },
})

const task = 'Tell me everything.'
const late = await line.calls.open({ agent: 'silent', task, timeout_seconds: 0.3 })
const costly = await line.calls.open({ agent: 'endless', task, max_tokens: 300 })
assert.ok(!isRefusal(late) && !isRefusal(costly))

assert.deepEqual([late.outcome, late.output], ['timed_out', 'The first half.'])
assert.match(late.errors[0] ?? '', /no answer within 0\.3 s/)
assert.equal(costly.outcome, 'budget_exhausted')
assert.match(costly.output, /Once upon a time/)
assert.ok(costly.tokens_used <= 300, `${costly.tokens_used} tokens were used`)
console.log(`late: ${late.errors[0]}\ncostly: stopped after ${costly.tokens_used} of 300 tokens`)
