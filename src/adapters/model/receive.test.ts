import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { testClock } from '../../../test/kits/turns.ts'
import { answerUnitsMax } from '../../model/limits.ts'
import { createAlarm } from '../../runtime/kernel/alarm.ts'
import { BadStream, nothingReceived, receive } from './receive.ts'
import type { WireRequest } from './wire.ts'

/** A model that says this, in pieces of a hundred thousand characters, and then ends. */
const saying = (chars: number): LanguageModelV4 => {
  const parts: LanguageModelV4StreamPart[] = []
  for (let left = chars; left > 0; left -= 100_000)
    parts.push({ type: 'text-delta', id: '1', delta: 'x'.repeat(Math.min(left, 100_000)) })
  const ended = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: {} }
  const all = [...parts, ended as unknown as LanguageModelV4StreamPart]
  return { doStream: async () => ({ stream: ReadableStream.from(all) }) } as unknown as LanguageModelV4
}

async function read(chars: number): Promise<unknown> {
  const received = nothingReceived()
  const clock = testClock()
  const watch = { clock, alarm: createAlarm(clock), stallMs: 60_000, signal: new AbortController().signal }
  const wire = { prompt: [], tools: [] } as unknown as WireRequest
  return receive(saying(chars), wire, received, () => undefined, watch).then(
    () => received.text.length,
    (error: unknown) => error,
  )
}

test('R11: an answer that is longer than any answer is broken off, to the character', async () => {
  expect(await read(answerUnitsMax)).toBe(answerUnitsMax)
  expect(await read(answerUnitsMax + 1)).toEqual(
    new BadStream('garbage', `the answer is longer than ${answerUnitsMax} characters`),
  )
})
