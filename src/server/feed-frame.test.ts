import { expect, test } from 'vitest'
import type { StoredEvent } from '../model/event.ts'
import { createFrames } from './feed-frame.ts'
import type { Delta } from '../wire/log.ts'

let written = 0
const stored = (seq: number, text = ''): StoredEvent => ({
  seq,
  at: 1,
  event: {
    type: 'notice.raised',
    session: 'ses_1',
    turn: null,
    about: 'x',
    text,
    toJSON: () => ((written += 1), { type: 'notice.raised', text }),
  } as StoredEvent['event'],
})

/** As RFC 6455 says; throws where something is left over. */
function readFrame(frame: Buffer): string {
  expect(frame[0]).toBe(0x81)
  const short = frame.readUInt8(1)
  const [head, length] =
    short < 126
      ? [2, short]
      : short === 126
        ? [4, frame.readUInt16BE(2)]
        : [10, Number(frame.readBigUInt64BE(2))]
  expect(frame.length - head).toBe(length)
  return frame.toString('utf8', head)
}

test('a frame for sockets says how long it is, however long that is', () => {
  const frames = createFrames()
  const bare = frames.event(stored(1)).socket.length - 2
  let seq = 1
  for (const length of [125, 126, 127, 65_535, 65_536, 65_537].map((one) => one - bare)) {
    const text = length < 0 ? '' : 'x'.repeat(length)
    expect(readFrame(frames.event(stored((seq += 1), text)).socket)).toContain(`"text":"${text}"`)
  }
  expect(readFrame(frames.event(stored(9, 'ü€😀'.repeat(30))).socket)).toContain('ü€😀"')
})

test('an event is written once for all who listen, in both dialects', () => {
  const frames = createFrames()
  const event = stored(7, 'hello')
  written = 0
  for (let n = 0; n < 200; n += 1)
    expect(readFrame(frames.event({ ...event }).socket)).toBe(
      '{"type":"event","seq":"7","at":1,"sessionId":"ses_1","event":{"type":"notice.raised","text":"hello"}}',
    )
  expect(frames.event(event).sse.toString()).toBe(
    'id: 7\nevent: event\n' +
      'data: {"seq":"7","at":1,"sessionId":"ses_1","event":{"type":"notice.raised","text":"hello"}}\n\n',
  )
  expect(written).toBe(1)
  expect(frames.event(event).socket).toBe(frames.event(event).socket)
})

test('what is kept is bounded by its bytes, oldest first', () => {
  const frames = createFrames(10_000)
  written = 0
  for (let seq = 1; seq <= 100; seq += 1) frames.event(stored(seq, 'x'.repeat(400)))
  expect(written).toBe(100)
  frames.event(stored(100))
  expect(written).toBe(100)
  frames.event(stored(1))
  expect(written).toBe(101)
  expect(frames.event(stored(200, 'x'.repeat(1_000_000))).socket.length).toBeGreaterThan(1_000_000)
})

test('a delta is written once, has no number, and a newline in it stays on its line', () => {
  const frames = createFrames()
  const delta: Delta = { session: 'ses_1', turn: 'turn_1', epoch: 1, step: 2, offset: 3, text: 'a\nb' }
  expect(frames.delta(delta)).toBe(frames.delta(delta))
  expect(frames.delta(delta).sse.toString()).toBe(
    'event: delta\n' +
      'data: {"sessionId":"ses_1","session":"ses_1","turn":"turn_1","epoch":1,"step":2,"offset":3,' +
      '"text":"a\\nb"}\n\n',
  )
  expect(readFrame(frames.delta({ ...delta, text: 'c' }).socket)).toContain('"text":"c"')
})
