import { describe, expect, it } from 'vitest'
import { type Refusal, isRefusal } from '../../model/refusal.ts'
import { testClock } from '../../../test/kits/turns.ts'
import { type Piece, streamTurn } from './stream.ts'
import { type LettaMessage, toolMessages, type ToolUsed } from './wire.ts'
import type { AskAnswer } from '../../runtime/sessions/ask-turn.ts'

const turn = 'turn_1'
const delta = (step: number, offset: number, text: string, epoch = 1): Piece => ({
  delta: { session: 'ses_1', turn, epoch, step, offset, text },
})
const used = (id: string): ToolUsed => ({
  id,
  name: 'read',
  input: {},
  ok: true,
  output: `output of ${id}`,
  at: 0,
})
const [called, returned] = toolMessages(turn, used('a')) as [LettaMessage, LettaMessage]

function makeAnswer(output: string, more: Partial<AskAnswer> = {}): AskAnswer {
  return {
    turn,
    flow: 'flow_1',
    session: 'ses_1',
    messageId: 'msg_1',
    usage: { input: 1, output: 2 },
    toolCalls: [],
    startedAt: 0,
    endedAt: 0,
    ended: {
      type: 'turn.ended',
      session: 'ses_1',
      turn,
      outcome: 'completed',
      output,
      error: null,
      tokensUsed: 3,
      tokensBelow: 0,
      iterations: 1,
      toolCalls: [],
      entry: null,
    },
    ...more,
  }
}

/** What a client reads of these pieces and this end, without the last two lines. */
async function read(
  pieces: readonly Piece[],
  answer: AskAnswer | Refusal | Promise<Refusal>,
  tokens = true,
): Promise<string[]> {
  const out = await streamTurn(
    {
      answer: Promise.resolve<AskAnswer | Refusal>(answer),
      watch: (listener) => pieces.forEach(listener),
      leave: () => undefined,
    },
    { tokens, pings: true },
    testClock(1),
  )
  if (isRefusal(out)) return [out.code]
  let text = ''
  for await (const chunk of out) text += String(chunk)
  const lines = text
    .split('\n\n')
    .slice(0, -1)
    .map((line) => line.slice('data: '.length))
  expect(lines.pop()).toBe('[DONE]')
  return lines
    .map((line) => JSON.parse(line) as LettaMessage)
    .filter(({ message_type: type }) => type !== 'usage_statistics' && type !== 'stop_reason')
    .map(
      ({ message_type: type, content, message }) =>
        `${type.replace('_message', '')}: ${content ?? String(message)}`,
    )
}

describe('a turn as a stream', () => {
  it('shows pieces as they come, and what they left out of the answer', async () => {
    expect(await read([delta(1, 0, 'one '), delta(1, 4, 'two')], makeAnswer('one two'))).toEqual([
      'assistant: one ',
      'assistant: two',
    ])
    expect(await read([delta(1, 0, 'one ')], makeAnswer('one two'))).toEqual([
      'assistant: one ',
      'assistant: two',
    ])
    expect(await read([], makeAnswer('one two'))).toEqual(['assistant: one two'])
    expect(await read([delta(1, 0, 'I think')], makeAnswer('{"a":1}'))).toEqual([
      'assistant: I think',
      'assistant: {"a":1}',
    ])
    expect(await read([delta(1, 0, 'one '), delta(1, 4, 'two')], makeAnswer('one two'), false)).toEqual([
      'assistant: one two',
    ])
  })

  it('does not say twice what a turn says again after a crash', async () => {
    expect(
      await read(
        [delta(1, 0, 'one '), delta(1, 0, 'one two', 2), delta(2, 0, 'three', 2)],
        makeAnswer('three'),
      ),
    ).toEqual(['assistant: one ', 'assistant: two', 'assistant: three'])
  })

  it('shows what was said after a tool after its result, and each message once', async () => {
    const answer = makeAnswer('done', { toolCalls: [used('a'), used('b')] })
    const expected = ['assistant: look', 'tool_call: read({})', 'tool_return: output of a']
    expect(
      await read(
        [
          delta(1, 0, 'look'),
          { message: called },
          delta(2, 0, 'done'),
          { message: called },
          { message: returned },
          { message: returned },
        ],
        answer,
      ),
    ).toEqual([...expected, 'assistant: done', 'tool_call: read({})', 'tool_return: output of b'])
    expect(
      await read(
        [delta(1, 0, 'look'), { message: called }, delta(2, 0, 'done')],
        makeAnswer('done', { toolCalls: [used('a')] }),
      ),
    ).toEqual([...expected, 'assistant: done'])
  })
})

describe('a turn as a stream that fails', () => {
  it('is a refusal where nothing had happened, and tells of one that came later', async () => {
    const full: Refusal = { code: 'queue_full', session: 'ses_1', queued: 100, queuedMax: 100 }
    expect(await read([], full)).toEqual(['queue_full'])
    expect(
      await read([delta(1, 0, 'x')], new Promise((resolve) => setImmediate(() => resolve(full)))),
    ).toEqual(['assistant: x', expect.stringMatching(/^error: Session ses_1 has 100 inputs waiting/)])
  })

  it("breaks with its cause when the turn's own fault comes later", async () => {
    const broken = streamTurn(
      {
        answer: new Promise((_, reject) => setImmediate(() => reject(new Error('disk')))),
        watch: (listener) => listener(delta(1, 0, 'x')),
        leave: () => undefined,
      },
      { tokens: true, pings: true },
      testClock(1),
    )
    await expect(
      (async () => {
        for await (const chunk of (await broken) as AsyncIterable<unknown>) void chunk
      })(),
    ).rejects.toThrow('disk')
  })

  it('is broken off for a client that leaves more than 16 MiB unread, and not before', async () => {
    let say = (_piece: Piece): void => undefined
    const out = await streamTurn(
      {
        answer: new Promise<never>(() => undefined),
        watch: (listener) => {
          say = listener
          listener(delta(1, 0, 'one'))
        },
        leave: () => undefined,
      },
      { tokens: true, pings: true },
      testClock(1),
    )
    if (isRefusal(out)) throw new Error(out.code)
    const mebibyte = 'x'.repeat(1024 * 1024)
    for (let step = 2; step < 17; step += 1) say(delta(step, 0, mebibyte))
    expect(out.destroyed).toBe(false)
    for (let step = 17; step < 20; step += 1) say(delta(step, 0, mebibyte))
    expect(out.destroyed).toBe(true)
  })
})
