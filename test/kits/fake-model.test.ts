import { afterEach, expect, it } from 'vitest'
import { Agent } from '../../src/model/agent.ts'
import { providerModels } from '../../src/adapters/model/providers.ts'
import { fakeModel, type FakeModel } from './fake-model.ts'

let fake: FakeModel | null = null
afterEach(async () => {
  await fake?.close()
  fake = null
})

const kinds = ['openai-compatible', 'openai', 'anthropic', 'google'] as const

it.each(kinds)('answers whole, as %s, with text, tools and usage', async (kind) => {
  fake = await fakeModel([
    { when: { system: 'be brief', user: /^hi/ }, text: 'hello', tools: [{ name: 'find', input: { q: 1 } }] },
  ])
  const model = await providerModels(
    { p: { kind, baseURL: fake.url, apiKeyEnv: 'K' } },
    { K: 'key-of-test' },
  ).model(Agent.parse({ name: 'a', model: 'p/m' }))
  const answer = await model.doGenerate({
    prompt: [
      { role: 'system', content: 'be brief' },
      { role: 'user', content: [{ type: 'text', text: 'hi there' }] },
    ],
    tools: [{ type: 'function', name: 'find', inputSchema: { type: 'object' } }],
  })
  expect(answer.content.filter((part) => part.type === 'text')).toMatchObject([{ text: 'hello' }])
  expect(answer.content.filter((part) => part.type === 'tool-call')).toMatchObject([
    { toolName: 'find', input: '{"q":1}' },
  ])
  expect(answer.usage).toMatchObject({ inputTokens: { total: 11 }, outputTokens: { total: 7 } })
  expect(answer.finishReason.unified).toBe('tool-calls')
  expect(fake.requests).toMatchObject([{ stream: false, abandoned: false }])
})

it('ends a loop of tools by itself, counts uses of a rule, and serves lists of models', async () => {
  fake = await fakeModel(
    [{ times: 1, status: 503, retryAfter: '2' }, { tools: [{ name: 'x', input: {} }] }],
    { toolRoundsMax: 1 },
  )
  const ask = async (messages: unknown[]) =>
    fetch(`${fake?.url}/chat/completions`, { method: 'POST', body: JSON.stringify({ messages }) })
  const refused = await ask([])
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2'])
  expect(await (await ask([])).json()).toMatchObject({ choices: [{ finish_reason: 'tool_calls' }] })
  expect(await (await ask([{ role: 'assistant' }, { role: 'tool', content: 'r' }])).json()).toMatchObject({
    choices: [{ finish_reason: 'stop', message: { content: 'The tool rounds are used up.' } }],
  })
  expect((await fetch(`${fake.url}/models`)).status).toBe(200)
  expect((await fetch(`${fake.url}/nothing`, { method: 'POST' })).status).toBe(404)
})
