import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { testClock } from '../../../test/kits/turns.ts'
import { answerUnitsMax } from '../../model/limits.ts'
import { createAlarm } from '../../runtime/kernel/alarm.ts'
import { BadStream, nothingReceived, receive } from './receive.ts'
import type { WireRequest } from './wire.ts'

test('R11: the inputs of tools count like text, all of them together', async () => {
  const ended = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: {} }
  const take = async (sizes: readonly number[]): Promise<unknown> => {
    const calls = sizes.map((size, n) => ({
      type: 'tool-call',
      toolName: 'write',
      toolCallId: `${n}`,
      input: JSON.stringify('x'.repeat(size - 2)),
    }))
    const parts = [...calls, ended] as unknown as LanguageModelV4StreamPart[]
    const model = {
      doStream: async () => ({ stream: ReadableStream.from(parts) }),
    } as unknown as LanguageModelV4
    const [received, clock] = [nothingReceived(), testClock()]
    const watch = { clock, alarm: createAlarm(clock), stallMs: 60_000, signal: new AbortController().signal }
    const wire = { prompt: [], tools: [] } as unknown as WireRequest
    await receive(model, wire, received, () => undefined, watch)
    return received.toolCalls.length
  }
  const half = answerUnitsMax / 2
  expect(await take([half, half])).toBe(2)
  await expect(take([half, half + 1])).rejects.toBeInstanceOf(BadStream)
})
