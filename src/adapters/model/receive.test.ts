import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { testClock } from '../../../test/kits/turns.ts'
import { answerUnitsMax } from '../../model/limits.ts'
import { createAlarm } from '../../runtime/kernel/alarm.ts'
import { BadStream, nothingReceived, receive } from './receive.ts'
import type { WireRequest } from './wire.ts'

const ended = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: {},
} as unknown as LanguageModelV4StreamPart

const streaming = (parts: readonly LanguageModelV4StreamPart[]): LanguageModelV4 =>
  ({
    doStream: async () => ({ stream: ReadableStream.from([...parts, ended]) }),
  }) as unknown as LanguageModelV4

/** A model that says this, in pieces of a hundred thousand characters, and then ends. */
const saying = (chars: number): LanguageModelV4 => {
  const parts: LanguageModelV4StreamPart[] = []
  for (let left = chars; left > 0; left -= 100_000)
    parts.push({ type: 'text-delta', id: '1', delta: 'x'.repeat(Math.min(left, 100_000)) })
  return streaming(parts)
}

async function take(model: LanguageModelV4): Promise<ReturnType<typeof nothingReceived>> {
  const received = nothingReceived()
  const clock = testClock()
  const watch = { clock, alarm: createAlarm(clock), stallMs: 60_000, signal: new AbortController().signal }
  const wire = { prompt: [], tools: [] } as unknown as WireRequest
  await receive(model, wire, received, () => undefined, watch)
  return received
}

const read = (chars: number): Promise<unknown> =>
  take(saying(chars)).then(
    ({ text }) => text.length,
    (error: unknown) => error,
  )

test('a tool that the provider has run itself is not run again', async () => {
  const call = { type: 'tool-call' as const, toolName: 'read', input: '{}' }
  const parts = [
    { ...call, toolCallId: 'theirs', providerExecuted: true },
    { ...call, toolCallId: 'ours' },
  ]
  const { toolCalls } = await take(streaming(parts))
  expect(toolCalls).toMatchObject([{ id: 'ours', name: 'read' }])
})

test('R11: an answer that is longer than any answer is broken off, to the character', async () => {
  expect(await read(answerUnitsMax)).toBe(answerUnitsMax)
  expect(await read(answerUnitsMax + 1)).toEqual(
    new BadStream('garbage', `the answer is longer than ${answerUnitsMax} characters`),
  )
})
