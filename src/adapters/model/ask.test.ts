import { createAlarm } from '../../runtime/kernel/alarm.ts'
import { APICallError } from '@ai-sdk/provider'
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { describe, expect, it } from 'vitest'
import { countWords, testClock } from '../../../test/kits/turns.ts'
import { ProviderFault } from '../../runtime/kernel/faults.ts'
import { usageEstimator } from '../../runtime/turns/estimate-usage.ts'
import { type ModelRequest } from '../../runtime/turns/loop.ts'
import { modelAsk } from './drive.ts'
import { redactor } from './describe-broken.ts'

const usage = {
  inputTokens: { total: 5, noCache: 5, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 2, text: 2, reasoning: 0 },
}
const finish: LanguageModelV4StreamPart = {
  type: 'finish',
  usage,
  finishReason: { unified: 'stop', raw: 'stop' },
}
const delta = (text: string): LanguageModelV4StreamPart => ({ type: 'text-delta', id: '1', delta: text })
const request = (): ModelRequest => ({
  system: 's',
  messages: [{ role: 'user', text: 'u' }],
  tools: [],
  maxOutputTokens: null,
  iteration: 1,
  idempotencyKey: 'k',
})
const never = new AbortController().signal

/**
 * A model in the process. Each stream is the next of the given ones; one that is not closed stays open and
 * ignores every signal.
 */
function mockModel(
  ...streams: (LanguageModelV4StreamPart[] | Error | 'open')[]
): LanguageModelV4 & { asked: LanguageModelV4CallOptions[] } {
  const asked: LanguageModelV4CallOptions[] = []
  return {
    specificationVersion: 'v4',
    provider: 'mock',
    modelId: 'mock',
    supportedUrls: {},
    asked,
    doGenerate: () => Promise.reject(new Error('not used')),
    doStream(options) {
      asked.push(options)
      const given = streams[Math.min(asked.length, streams.length) - 1]
      if (given === undefined || given instanceof Error)
        return Promise.reject(given ?? new Error('no stream'))
      return Promise.resolve({
        stream: new ReadableStream<LanguageModelV4StreamPart>({
          start(controller) {
            if (given === 'open') return
            for (const part of given) controller.enqueue(part)
            controller.close()
          },
        }),
      })
    },
  }
}

function asking(model: LanguageModelV4, stallMs?: number, clock = testClock()) {
  const emitted: string[] = []
  const ask = modelAsk({
    model: () => Promise.resolve(model),
    clock,
    alarm: createAlarm(clock),
    estimate: usageEstimator(countWords),
    deadline: Number.MAX_SAFE_INTEGER,
    ...(stallMs !== undefined && { stallMs }),
  })
  const run = (signal = never, maxOutputTokens: number | null = null): ReturnType<typeof ask> =>
    ask({ ...request(), maxOutputTokens }, (text) => emitted.push(text), signal)
  return { clock, emitted, run }
}

describe('modelAsk', () => {
  it('leaves no timer and no listener behind', async () => {
    const clock = testClock()
    let waiting = 0
    const counting = {
      now: () => clock.now(),
      elapsed: () => clock.elapsed(),
      async sleep(ms: number, signal?: AbortSignal) {
        waiting += 1
        await clock.sleep(ms, signal).finally(() => {
          waiting -= 1
        })
      },
    }
    const ask = modelAsk({
      model: () => Promise.resolve(mockModel([delta('hi'), finish])),
      clock: counting,
      alarm: createAlarm(counting),
      estimate: usageEstimator(countWords),
      deadline: Number.MAX_SAFE_INTEGER,
    })
    expect(await ask(request(), () => undefined, never)).toEqual({
      text: 'hi',
      toolCalls: [],
      usage: { input: 5, output: 2, estimated: false },
      finish: 'stop',
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect(waiting).toBe(0)
  })

  it('tries again as long as its turn really has time, whatever the wall clock was set to', async () => {
    for (const [jumpMs, leftMs, said] of [
      [10_800_000, 60_000, 'whole'],
      [-3_600_000, 100, 'provider_error'],
    ] as const) {
      const clock = testClock()
      const set = { ...clock, sleeps: [], now: () => clock.now() + (model.asked.length > 0 ? jumpMs : 0) }
      const model = mockModel(
        [{ type: 'error', error: { message: 'overloaded', statusCode: 529 } }],
        [delta('whole'), finish],
      )
      const ask = modelAsk({
        model: () => Promise.resolve(model),
        clock: set,
        alarm: createAlarm(set),
        estimate: usageEstimator(countWords),
        deadline: clock.now() + leftMs,
      })
      const answer = await ask(request(), () => undefined, never).then(
        ({ text }) => text,
        (fault: { code: string }) => fault.code,
      )
      expect([jumpMs, answer]).toEqual([jumpMs, said])
    }
  })
})

describe('modelAsk and broken streams', () => {
  it('never tries again after text was shown, though the error allows it', async () => {
    const model = mockModel(
      [delta('half'), { type: 'error', error: { message: 'overloaded', statusCode: 529 } }],
      [delta('whole'), finish],
    )
    const { run, emitted } = asking(model)
    await expect(run()).rejects.toMatchObject({
      code: 'provider_error',
      message: 'provider_error: 529 overloaded',
      usage: { output: 1, estimated: true },
    })
    expect(emitted).toEqual(['half'])
    expect(model.asked).toHaveLength(1)
  })

  it('tries again when the error came in the stream before any text', async () => {
    const model = mockModel(
      [{ type: 'error', error: { message: 'overloaded', statusCode: 529 } }],
      [delta('whole'), finish],
    )
    expect(await asking(model).run()).toMatchObject({ text: 'whole' })
  })

  it('tries again when the stream ended before any text, but not on garbage', async () => {
    expect(await asking(mockModel([], [delta('whole'), finish])).run()).toMatchObject({ text: 'whole' })
    const model = mockModel(new Error('Unsupported chunk type: x'))
    await expect(asking(model).run()).rejects.toMatchObject({ code: 'provider_garbage' })
    expect(model.asked).toHaveLength(1)
  })

  it('stops on abort though the model ignores the signal', async () => {
    const controller = new AbortController()
    const running = asking(mockModel('open')).run(controller.signal)
    await new Promise((resolve) => setImmediate(resolve))
    controller.abort(new Error('cancelled'))
    await expect(running).rejects.toThrow('cancelled')
  })

  it('takes a stream that keeps coming for alive, and counts a stall from the last part', async () => {
    let push: (part: LanguageModelV4StreamPart) => void = () => undefined
    const model = mockModel('open')
    model.doStream = () =>
      Promise.resolve({
        stream: new ReadableStream<LanguageModelV4StreamPart>({
          start: (controller) => {
            push = (part) => controller.enqueue(part)
          },
        }),
      })
    const { run, clock } = asking(model, 100_000, testClock(1))
    const running = run()
    const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
    await tick()
    clock.pass(70_000)
    push(delta('still'))
    await tick()
    clock.pass(70_000)
    await tick()
    push(delta(' here'))
    await tick()
    clock.pass(100_000)
    await expect(running).rejects.toMatchObject({ code: 'provider_stalled' })
  })
})

describe('modelAsk and providers that refuse', () => {
  const refuse = (statusCode: number, message: string, responseHeaders: Record<string, string> = {}): Error =>
    new APICallError({ message, url: '', requestBodyValues: {}, statusCode, responseHeaders })

  it('asks five times, with longer and longer pauses, and then gives up', async () => {
    const model = mockModel(refuse(529, 'overloaded'))
    const { run, clock } = asking(model)
    await expect(run()).rejects.toMatchObject({ code: 'provider_error' })
    expect([model.asked.length, clock.sleeps]).toEqual([5, [500, 1000, 2000, 4000]])
  })

  it('waits as long as the provider says', async () => {
    const model = mockModel(refuse(429, 'slow down', { 'retry-after': '7' }), [delta('whole'), finish])
    const { run, clock } = asking(model)
    expect([(await run()).text, clock.sleeps]).toEqual(['whole', [7000]])
  })

  it('leaves out a limit that the provider does not take, from then on', async () => {
    const tooMuch = refuse(400, 'max_tokens: 900000 is more than this model may write')
    const model = mockModel(tooMuch, [delta('one'), finish], [delta('two'), finish])
    const { run } = asking(model)
    await run(never, 900_000)
    await run(never, 900_000)
    expect(model.asked.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([900_000, undefined, undefined])
  })
})

describe('modelAsk at its limits', () => {
  it('does not start when it is aborted already', async () => {
    const model = mockModel([finish])
    await expect(asking(model).run(AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late')
    expect(model.asked).toHaveLength(0)
  })

  it('closes a stream unread that opens after its request was aborted', async () => {
    const opening = Promise.withResolvers<{ stream: ReadableStream<LanguageModelV4StreamPart> }>()
    const model = { ...mockModel([]), doStream: () => opening.promise }
    const abort = new AbortController()
    const asked = asking(model).run(abort.signal)
    // Aborted while it waits for the stream, not before it asks.
    setImmediate(() => abort.abort(new Error('nobody waits')))
    await expect(asked).rejects.toThrow('nobody waits')
    const closed = await new Promise((resolve) => {
      const stream = new ReadableStream<LanguageModelV4StreamPart>({ cancel: resolve })
      opening.resolve({ stream })
    })
    expect(closed).toMatchObject({ message: 'nobody waits' })
  })

  it('ends as failed when a stream has no finish, or an error for one', async () => {
    await expect(asking(mockModel([delta('half')])).run()).rejects.toMatchObject({ code: 'provider_cut' })
    await expect(
      asking(
        mockModel([
          delta('x'),
          { ...finish, finishReason: { unified: 'error', raw: undefined } } as LanguageModelV4StreamPart,
        ]),
      ).run(),
    ).rejects.toBeInstanceOf(ProviderFault)
  })

  it('counts where the provider says zero', async () => {
    const zero = {
      ...finish,
      usage: {
        inputTokens: { ...usage.inputTokens, total: 0 },
        outputTokens: { ...usage.outputTokens, total: 0 },
      },
    } as LanguageModelV4StreamPart
    expect(await asking(mockModel([delta('one two'), zero])).run()).toMatchObject({
      usage: { input: 2, output: 2, estimated: true },
    })
  })
})

describe('redactor', () => {
  it('takes out known keys and what looks like one', () => {
    const redact = redactor(() => ['my-own-secret'])
    expect(redact('a my-own-secret b')).toBe('a [redacted] b')
    expect(redact('key sk-ant-api03-abcdefghij was refused')).toBe('key [redacted] was refused')
    expect(redact('Authorization: Bearer abcdefghijkl')).toBe('Authorization: Bearer [redacted]')
    expect(redact('GET /v1?key=AIzaSyD1234567890 failed')).toBe('GET /v1?key=[redacted] failed')
    expect(redact('401 the key is missing')).toBe('401 the key is missing')
  })
})
