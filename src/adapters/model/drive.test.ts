import { afterEach, describe, expect, it } from 'vitest'
import { fakeModel, type FakeModel, type FakeRule } from '../../../test/kits/fake-model.ts'
import { countWords, entry, memorySteps, testClock, toolSpec, turnInput } from '../../../test/kits/turns.ts'
import type { StepsOptions } from '../../../test/kits/turns.ts'
import type { TurnInput } from '../../runtime/kernel/ports.ts'
import { modelDriver } from './drive.ts'
import { providerModels, Providers } from './providers.ts'

const kinds = ['openai-compatible', 'openai', 'anthropic', 'google'] as const
const secret = 'sk-test-0123456789abcdef'
const never = new AbortController().signal

let fake: FakeModel | null = null
afterEach(async () => {
  await fake?.close()
  fake = null
})

type Setting = {
  kind?: (typeof kinds)[number]
  turn?: Partial<TurnInput> & { deadline?: number }
  steps?: StepsOptions
  signal?: AbortSignal
  stallMs?: number
  toolRoundsMax?: number
}

async function start(rules: FakeRule[], setting: Setting = {}) {
  const { kind = 'openai-compatible', signal = never } = setting
  fake = await fakeModel(
    rules,
    setting.toolRoundsMax === undefined ? {} : { toolRoundsMax: setting.toolRoundsMax },
  )
  const clock = testClock()
  const models = providerModels(Providers.parse({ p: { kind, baseURL: fake.url, apiKeyEnv: 'KEY' } }), {
    KEY: secret,
  })
  const driver = modelDriver({
    model: models.model,
    redact: models.redact,
    clock,
    count: countWords,
    ...(setting.stallMs !== undefined && { stallMs: setting.stallMs }),
  })
  const steps = memorySteps({ ...setting.steps, signal })
  const running = driver.run(turnInput({ model: 'p/fake', ...setting.turn }), steps, signal)
  return { running, steps, clock, fake }
}

async function run(rules: FakeRule[], setting: Setting = {}) {
  const started = await start(rules, setting)
  return { ...started, outcome: await started.running }
}

describe.each(kinds)('the model driver on %s', (kind) => {
  it("streams an answer, with the provider's usage", async () => {
    const {
      outcome,
      steps,
      fake: model,
    } = await run(
      [{ text: 'Grüße, 世界! 👩‍👩‍👧 and a good day', usage: { input: 21, output: 9 }, splitBytes: true }],
      { kind },
    )
    expect(outcome).toEqual({
      outcome: 'completed',
      output: 'Grüße, 世界! 👩‍👩‍👧 and a good day',
      error: null,
      iterations: 1,
    })
    expect(steps.emitted.length).toBeGreaterThan(2)
    expect(steps.emitted.join('')).toBe(outcome.output)
    expect(steps.recorded[0]?.usage).toEqual({ input: 21, output: 9, estimated: false })
    expect(model.requests[0]).toMatchObject({
      system: expect.stringContaining('You work.'),
      user: 'Task: do it',
      stream: true,
    })
    expect(model.requests[0]?.headers['idempotency-key']).toBe('turn_1-1')
  })

  it('runs a loop of parallel tools and gives their results back', async () => {
    const rules: FakeRule[] = [
      {
        when: { results: 0 },
        text: 'Looking.',
        tools: [
          { name: 'find', input: { q: 'a' } },
          { name: 'find', input: { q: 'b' } },
        ],
      },
      { when: { results: 2, result: 'found b' }, text: 'Both found.' },
    ]
    const tools = {
      find: (input: unknown) => ({ ok: true, value: { text: `found ${(input as { q: string }).q}` } }),
    }
    const {
      outcome,
      steps,
      fake: model,
    } = await run(rules, { kind, turn: { tools: [toolSpec('find')] }, steps: { tools } })
    expect(outcome).toMatchObject({ outcome: 'completed', output: 'Both found.', iterations: 2 })
    expect(steps.toolsRun).toEqual([
      { name: 'find', input: { q: 'a' } },
      { name: 'find', input: { q: 'b' } },
    ])
    expect(model.requests[1]?.results[0]).toContain('found a')
  })

  it('tells the model about a tool that failed', async () => {
    const rules: FakeRule[] = [
      { when: { results: 0 }, tools: [{ name: 'find', input: {} }] },
      { when: { result: 'no such thing' }, text: 'I see.' },
    ]
    const { outcome } = await run(rules, {
      kind,
      turn: { tools: [toolSpec('find')] },
      steps: { tools: { find: () => ({ ok: false, value: 'no such thing' }) } },
    })
    expect(outcome).toMatchObject({ outcome: 'completed', output: 'I see.' })
  })

  it('tries again after 429 and 503, as the provider wishes', async () => {
    const {
      outcome,
      clock,
      fake: model,
    } = await run(
      [{ times: 1, status: 429, retryAfter: '7' }, { times: 2, status: 503 }, { text: 'At last.' }],
      { kind },
    )
    expect(outcome).toMatchObject({ outcome: 'completed', output: 'At last.', iterations: 1 })
    expect(clock.sleeps).toEqual([7000, 1000, 2000])
    expect(new Set(model.requests.map((request) => request.headers['idempotency-key'])).size).toBe(1)
  })

  it.each([400, 401])('does not try again after %i, and names the cause without the key', async (status) => {
    const { outcome, fake: model } = await run(
      [{ status, errorText: `Incorrect API key provided: ${secret}` }],
      { kind },
    )
    expect(outcome.outcome).toBe('failed')
    expect(outcome.error).toMatch(
      new RegExp(`^provider_error: ${status} Incorrect API key provided: \\[redacted\\]`),
    )
    expect(JSON.stringify(outcome)).not.toContain(secret)
    expect(model.requests).toHaveLength(1)
  })

  it('fails with provider_garbage on a stream that is none', async () => {
    const { outcome } = await run([{ garbage: true }], { kind })
    expect(outcome).toMatchObject({ outcome: 'failed', error: expect.stringMatching(/^provider_garbage/) })
  })

  it.each(['connection', 'stream'] as const)(
    'fails with provider_cut and the text so far when the %s ends too early',
    async (cut) => {
      const { outcome, fake: model } = await run(
        [{ text: 'one two three four five six seven eight nine ten', cut }],
        { kind },
      )
      expect(outcome).toMatchObject({ outcome: 'failed', error: expect.stringMatching(/^provider_cut/) })
      expect(outcome.output).toMatch(/^one two/)
      expect(model.requests).toHaveLength(1)
    },
  )

  it('fails with empty_output on an answer with nothing in it', async () => {
    const { outcome } = await run([{ empty: true }], { kind })
    expect(outcome).toMatchObject({ outcome: 'failed', error: 'empty_output', output: '' })
  })

  it.each(['before', 'middle'] as const)(
    'fails with provider_stalled when nothing comes any more (%s the answer), and closes the request',
    async (hang) => {
      const {
        running,
        clock,
        fake: model,
        steps,
      } = await start([{ text: 'one two three four five six', hang }], { kind })
      while (model.requests.length === 0 || (hang === 'middle' && steps.emitted.length === 0))
        await new Promise((resolve) => setTimeout(resolve, 5))
      clock.pass(120_000)
      expect(await running).toMatchObject({
        outcome: 'failed',
        error: 'provider_stalled: nothing came for 120000 ms',
      })
      await model.settled()
      expect(model.requests).toHaveLength(1)
    },
  )

  it.each(['before', 'middle'] as const)(
    'stops at once when it is aborted %s the answer, and closes the request',
    async (hang) => {
      const controller = new AbortController()
      const {
        running,
        fake: model,
        steps,
      } = await start([{ text: 'one two three four five six', hang }], { kind, signal: controller.signal })
      while (model.requests.length === 0 || (hang === 'middle' && steps.emitted.length === 0))
        await new Promise((resolve) => setTimeout(resolve, 5))
      expect(model.openRequests()).toBe(1)
      const at = performance.now()
      controller.abort(new Error('cancelled'))
      await expect(running).rejects.toThrow('cancelled')
      await model.settled()
      expect(performance.now() - at).toBeLessThan(500)
      expect(model.requests[0]?.abandoned).toBe(true)
      expect(steps.recorded).toEqual([])
    },
  )
})

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

  it('gives Gemini its signatures back', async () => {
    const rules: FakeRule[] = [
      { when: { results: 0 }, tools: [{ name: 'find', input: { q: 'a' } }] },
      { text: 'done' },
    ]
    const { fake: model } = await run(rules, { kind: 'google', turn: { tools: [toolSpec('find')] } })
    expect(JSON.stringify(model.requests[1]?.body)).toContain('signature-of-call_1_0')
  })

  it('passes what is left of the budget as the output limit, and goes on without it where the model takes no such number', async () => {
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
