import { describe, expect, it } from 'vitest'
import type { FakeRule } from '../../../test/kits/fake-model.ts'
import { kinds, secret, start, run } from '../../../test/kits/model-driver.ts'
import { toolSpec } from '../../../test/kits/turns.ts'

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
})

describe.each(kinds)('the model driver and failures of %s', (kind) => {
  it('tries again after 429 and 503, as the provider wishes', async () => {
    const {
      outcome,
      clock,
      steps,
      fake: model,
    } = await run(
      [{ times: 1, status: 429, retryAfter: '7' }, { times: 2, status: 503 }, { text: 'At last.' }],
      { kind },
    )
    expect(outcome).toMatchObject({ outcome: 'completed', output: 'At last.', iterations: 1 })
    expect(clock.sleeps).toEqual([7000, 1000, 2000])
    expect(steps.remarks.map((words) => words.split(':')[0])).toEqual([
      'the provider is asked again in 7 s (try 2 of 5)',
      'the provider is asked again (try 2 of 5)',
      'the provider is asked again in 1 s (try 3 of 5)',
      'the provider is asked again (try 3 of 5)',
      'the provider is asked again in 2 s (try 4 of 5)',
      'the provider is asked again (try 4 of 5)',
    ])
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
})

describe.each(kinds)('the model driver stopped on %s', (kind) => {
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
