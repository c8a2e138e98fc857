import { afterEach, describe, expect, it } from 'vitest'
import { fakeModel, type FakeModel, type FakeRule } from '../../../test/kits/fake-model.ts'
import { countWords, entry, testClock } from '../../../test/kits/turns.ts'
import { Agent } from '../../model/agent.ts'
import { providerModels } from './providers.ts'
import { modelSummarise, summaryTokensMax } from './summarise.ts'

const never = new AbortController().signal
const agent = Agent.parse({ name: 'a', model: 'p/fake' })

let fake: FakeModel | null = null
afterEach(async () => {
  await fake?.close()
  fake = null
})

async function summariser(rules: FakeRule[]) {
  fake = await fakeModel(rules)
  return modelSummarise({
    model: providerModels({ p: { kind: 'openai-compatible', baseURL: fake.url } }, {}).model,
    clock: testClock(),
    count: countWords,
  })
}

describe('modelSummarise', () => {
  it("asks the agent's model, with the earlier summary and peers in frames", async () => {
    const summarise = await summariser([{ text: ' They agreed on blue. ', usage: { input: 30, output: 5 } }])
    const entries = [
      entry('user', 'red or blue?'),
      entry('assistant', 'blue'),
      entry('user', 'me too', { from: 'ses_8' }),
    ]
    expect(await summarise(agent, 'Colours were discussed.', entries, never, '482')).toEqual({
      text: 'They agreed on blue.',
      usage: { input: 30, output: 5, estimated: false },
    })
    expect(fake?.requests[0]?.user).toMatch(
      /Colours were discussed.*\[user\]\nred or blue\?.*\[assistant\]\nblue.*peer_message from="ses_8"/s,
    )
  })

  it('has none for an agent without a model', async () => {
    const summarise = await summariser([])
    expect(
      await summarise(
        Agent.parse({ name: 's', driver: 'scripted' }),
        null,
        [entry('user', 'x')],
        never,
        '482',
      ),
    ).toBeNull()
    expect(fake?.requests).toEqual([])
  })

  it('reads no more than its bound, newest first', async () => {
    const summarise = await summariser([{ text: 'short' }])
    await summarise(
      agent,
      null,
      [
        entry('user', 'oldest words', { tokens: 10 }),
        entry('user', 'newer', { tokens: summaryTokensMax - 5 }),
        entry('user', 'newest', { tokens: 5 }),
      ],
      never,
      '482',
    )
    expect(fake?.requests[0]?.user).not.toContain('oldest words')
    expect(fake?.requests[0]?.user).toContain('newer')
  })

  it('reads the newest words also where they alone are more than its bound', async () => {
    const summarise = await summariser([{ text: 'short' }])
    const entries = [
      entry('user', 'older words', { tokens: 10 }),
      entry('user', 'a whole log', { tokens: summaryTokensMax + 1 }),
    ]
    await summarise(agent, null, entries, never, '482')
    expect(fake?.requests[0]?.user).toContain('a whole log')
    expect(fake?.requests[0]?.user).not.toContain('older words')
  })

  it('fails when the model gives none', async () => {
    await expect(
      (await summariser([{ empty: true }]))(agent, null, [entry('user', 'x')], never, '482'),
    ).rejects.toThrow('the summary is empty')
    await fake?.close()
    await expect(
      (await summariser([{ status: 401 }]))(agent, null, [entry('user', 'x')], never, '482'),
    ).rejects.toThrow('provider_error: 401')
  })
})
