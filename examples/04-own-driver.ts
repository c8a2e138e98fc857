/**
 * Your own kind of agent: a driver is one function. What it does through `steps` is recorded once, and the
 * same limits apply as to every other agent.
 */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineDriver, tieline } from '../src/index.ts'

/** Replace this with whatever runs your agent: another program, a server, a person. */
const answerQuestion = async (question: string): Promise<string> => `${question.split(' ').length} words`

const counting = defineDriver({
  async run(turn, steps) {
    const text = await steps.step('model', 'word-counter', { question: turn.task }, async () => ({
      value: await answerQuestion(turn.task),
      usage: { input: 3, output: 2, estimated: true },
    }))
    steps.emit(text)
    const file = await steps.tool('write', { path: 'answer.txt', content: text })
    // A text completes the turn; a throw fails it.
    if (!file.ok) throw new Error(JSON.stringify(file.value))
    return text
  },
})

const cwd = await mkdtemp(join(tmpdir(), 'tieline-example-'))
await using line = await tieline({
  cwd,
  agents: {
    counter: { driver: counting, tools: ['write'] },
    // Permissions are checked where a tool runs, whatever the driver tries.
    reader: { driver: counting, tools: ['read'] },
  },
})
const streamed: string[] = []
line.onDelta((delta) => streamed.push(delta.text))

const counted = await line.run('counter', 'one two three')
assert.deepEqual([counted.outcome, counted.output, counted.tokensUsed], ['completed', '3 words', 5])
assert.deepEqual(streamed, ['3 words'])
assert.equal(await readFile(join(cwd, 'answer.txt'), 'utf8'), '3 words')

const refused = await line.run('reader', 'one two three')
assert.equal(refused.outcome, 'failed')
assert.match(refused.error ?? '', /The tool write is not available here/)

await rm(cwd, { recursive: true })
console.log(`counter: ${counted.output}; reader: ${refused.outcome}, ${refused.error}`)
