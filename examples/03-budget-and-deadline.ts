/** A deadline ends a call with what it said so far. A budget ends it before the next model request. */
import assert from 'node:assert/strict'
import { tieline, type ScriptedTurn } from '../src/index.ts'

type Answer = { outcome: string; output: string; errors: string[]; tokens_used: number }

const ask = async (turn: ScriptedTurn, agent: string, more: Record<string, number>): Promise<Answer> =>
  (await turn.tool('sub_agent', { agent_name: agent, task: 'Tell me everything.', ...more })).value as Answer

const answers: Answer[] = []
await using line = await tieline({
  agents: {
    reporter: {
      tools: ['sub_agent'],
      allowSubAgentCalls: true,
      script: async (turn) => {
        answers.push(
          await ask(turn, 'silent', { timeout_seconds: 0.3 }),
          await ask(turn, 'endless', { max_tokens: 300 }),
        )
        return 'I have what there was.'
      },
    },
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

const startedAt = performance.now()
const result = await line.run('reporter', 'Ask both.', { maxTokens: 1000 })
const [late, costly] = answers

assert.equal(late?.outcome, 'timed_out')
assert.equal(late.output, 'The first half.')
assert.match(late.errors[0] ?? '', /no answer within 300 ms/)
assert.equal(costly?.outcome, 'budget_exhausted')
assert.match(costly.output, /Once upon a time/)
assert.equal(result.success, true)
assert.ok(result.tokensUsed <= 1000, `${result.tokensUsed} tokens were used`)
assert.ok(performance.now() - startedAt < 5000)
console.log(
  [
    `late: ${late.errors[0]}`,
    `costly: stopped after ${costly.tokens_used} tokens`,
    `in all: ${result.tokensUsed} of 1000 tokens`,
  ].join('\n'),
)
