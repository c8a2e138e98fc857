import { describe, expect, it } from 'vitest'
import type { FakeRule } from '../../../test/kits/fake-model.ts'
import { kinds, run } from '../../../test/kits/model-driver.ts'
import { countWords, entry, memorySteps, testClock, toolSpec, turnInput } from '../../../test/kits/turns.ts'
import { modelDriver } from './drive.ts'
import { providerModels, Providers } from './providers.ts'

const never = new AbortController().signal

describe('the model driver', () => {
  it('counts the tokens itself where the provider says nothing, and marks them', async () => {
    const { steps } = await run([{ text: 'three little words', usage: null }])
    expect(steps.recorded[0]?.usage).toEqual({
      input: countWords('You work.') + countWords('Task: do it'),
      output: 3,
      estimated: true,
    })
  })

  it('gives up when the pause would pass the deadline', async () => {
    const { outcome, clock } = await run([{ status: 429, retryAfter: '30' }], {
      turn: { deadline: 1_020_000 },
    })
    expect(outcome).toMatchObject({ outcome: 'failed', error: 'provider_error: 429 status 429' })
    expect(clock.sleeps).toEqual([])
  })

  it('gives up after a bounded number of tries', async () => {
    const { outcome, clock, fake: model } = await run([{ status: 500 }])
    expect(outcome.error).toBe('provider_error: 500 status 500 (after 5 tries)')
    expect(clock.sleeps).toEqual([500, 1000, 2000, 4000])
    expect(model.requests).toHaveLength(5)
  })

  it('tries again when nobody listens, and then names the cause', async () => {
    const clock = testClock()
    const models = providerModels(
      Providers.parse({ p: { kind: 'openai-compatible', baseURL: 'http://127.0.0.1:9/v1' } }),
      {},
    )
    const outcome = await modelDriver({ model: models.model, clock, count: countWords }).run(
      turnInput({ model: 'p/fake' }),
      memorySteps(),
      never,
    )
    expect(outcome.error).toMatch(/^provider_error: Cannot connect to API.*\(after 5 tries\)$/)
    expect(clock.sleeps).toHaveLength(4)
  })

  it('tells the model when the input of a tool is not JSON', async () => {
    const rules: FakeRule[] = [
      { when: { results: 0 }, tools: [{ name: 'find', input: '{"q": "a' }] },
      { when: { result: 'not valid JSON' }, text: 'Sorry.' },
    ]
    const { outcome, steps } = await run(rules, { turn: { tools: [toolSpec('find')] } })
    expect(outcome).toMatchObject({ outcome: 'completed', output: 'Sorry.' })
    expect(steps.toolsRun).toEqual([])
  })
})

describe('the model driver at its limits', () => {
  it('gives Gemini its signatures back', async () => {
    const rules: FakeRule[] = [
      { when: { results: 0 }, tools: [{ name: 'find', input: { q: 'a' } }] },
      { text: 'done' },
    ]
    const { fake: model } = await run(rules, { kind: 'google', turn: { tools: [toolSpec('find')] } })
    expect(JSON.stringify(model.requests[1]?.body)).toContain('signature-of-call_1_0')
  })

  it('passes the budget that is left as the output limit, and goes on without it where it is refused', async () => {
    const rules: FakeRule[] = [
      {
        times: 1,
        status: 400,
        errorText: 'max_tokens is too large: 100000. This model supports at most 16384 completion tokens.',
      },
      { text: 'done' },
    ]
    const { outcome, fake: model } = await run(rules, { steps: { tokens: 100_000 } })
    expect(outcome.outcome).toBe('completed')
    const limits = model.requests.map((request) => request.body['max_tokens'])
    expect(limits[0]).toBeLessThan(100_000)
    expect(limits[0]).toBeGreaterThan(99_900)
    expect(limits[1]).toBeUndefined()
  })

  it('ends with budget_exhausted where the budget cut the answer', async () => {
    const { outcome } = await run(
      [{ text: 'only half', finish: 'length', usage: { input: 40, output: 10 } }],
      { steps: { tokens: 50 } },
    )
    expect(outcome).toMatchObject({ outcome: 'budget_exhausted', output: 'only half' })
  })

  it('stops a loop of tools at the iteration limit', async () => {
    const rules: FakeRule[] = [{ text: 'again', tools: [{ name: 'find', input: {} }] }]
    const { outcome, fake: model } = await run(rules, {
      turn: { tools: [toolSpec('find')], maxIterations: 4 },
      steps: { tools: { find: () => ({ ok: true, value: 1 }) } },
    })
    expect(outcome).toEqual({
      outcome: 'failed',
      output: 'again',
      error: 'iteration limit of 4 reached',
      iterations: 4,
    })
    expect(model.requests).toHaveLength(4)
  })
})

describe('the model driver and its settings', () => {
  it('says what to set when the agent has no usable model, and needs none for a replay', async () => {
    const settings = { clock: testClock(), count: countWords }
    const without = modelDriver({ ...settings, model: providerModels({}, {}).model })
    const outcome = await without.run(turnInput({ model: 'anthropic/claude' }), memorySteps(), never)
    expect(outcome).toMatchObject({
      outcome: 'failed',
      error: expect.stringMatching(/^provider_unconfigured: .*set ANTHROPIC_API_KEY/),
    })
    const { steps, outcome: first } = await run([{ text: 'done' }])
    expect(
      await without.run(turnInput({ model: 'p/fake' }), memorySteps({ recorded: steps.recorded }), never),
    ).toEqual(first)
  })

  it.each(kinds)(
    "starts a conversation that was cut before an answer with a user's message (%s)",
    async (kind) => {
      const { outcome, fake: model } = await run([{ text: 'done' }], {
        kind,
        turn: { history: [entry('assistant', 'earlier answer'), entry('user', 'more', { from: 'ses_7' })] },
      })
      expect(outcome.outcome).toBe('completed')
      expect(JSON.stringify(model.requests[0]?.body)).toMatch(
        /Earlier messages are left out.*earlier answer.*peer_message.*ses_7.*Task: do it/s,
      )
    },
  )
})
