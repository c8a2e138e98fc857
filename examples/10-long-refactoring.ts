/** Hours of work in the background: go on meanwhile, say a word in between, and take the result when it is there. */
import assert from 'node:assert/strict'
import { isRefusal, tieline } from '../src/index.ts'

await using line = await tieline({
  agents: {
    // With `driver: 'acp', preset: 'claude'` this is a program on your machine, with half an hour unless you say more.
    claude: {
      script: [
        { when: { iteration: 1 }, say: 'Moved 40 files.', delayMs: 300 },
        { say: 'Moved 40 files, and left the tests alone.' },
      ],
    },
  },
})

const task = 'Move everything that talks to the database into src/store.'
const started = await line.calls.open({ agent: 'claude', task, background: true, timeout_seconds: 3600 })
if (isRefusal(started)) throw new Error(started.code)
console.log(`${started.call_id} runs; this program goes on`)

// It is in the middle of its work: it reads this before it may end.
const word = await line.calls.steer(started.call_id, 'Leave the tests alone.')
assert.equal(isRefusal(word), false)

await line.idle()
const record = await line.calls.get(started.call_id)
if (isRefusal(record)) throw new Error(record.code)
assert.equal(record.outcome, 'completed')
assert.equal(record.output, 'Moved 40 files, and left the tests alone.')
console.log(record.output)
