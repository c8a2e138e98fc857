import fc from 'fast-check'
import { expect, test } from 'vitest'
import { boundedFetch } from './bounded-fetch.ts'

const limits = { eventBytesMax: 1000, streamBytesMax: 20_000, depthMax: 100 }

/** Answers with pieces until it is told to stop, and counts them. */
function answering(type: string, pieces: Iterable<string>) {
  const seen = { given: 0, cancelled: false }
  const rest = pieces[Symbol.iterator]()
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const { done, value } = rest.next()
      if (done === true) return controller.close()
      seen.given += 1
      controller.enqueue(new TextEncoder().encode(value))
    },
    cancel: () => void (seen.cancelled = true),
  })
  const ask = boundedFetch(
    limits,
    (what) => new Error(what),
    async () => new Response(body, { headers: { 'content-type': type } }),
  )
  return { seen, read: async () => (await ask('http://localhost')).text() }
}

/** Far more than any bound, and yet an end: a reader that does not stop must not take the machine with it. */
function* endless(piece: string): Generator<string> {
  for (let n = 0; n < 10_000; n += 1) yield piece
}

test.each([
  [
    'a line that never ends',
    'text/event-stream',
    'x'.repeat(100),
    'one event of the stream has more than 1000 bytes',
  ],
  [
    'an event of lines that never ends',
    'text/event-stream; charset=utf-8',
    'data: x\n',
    'one event of the stream has more than 1000 bytes',
  ],
  [
    'an event whose lines end in CRLF, and never ends',
    'text/event-stream',
    'data: x\r\n',
    'one event of the stream has more than 1000 bytes',
  ],
  [
    'events without an end',
    'text/event-stream',
    `data: ${'x'.repeat(90)}\r\n\r\n`,
    'the stream has more than 20000 bytes',
  ],
  [
    'a body without an end',
    'application/json',
    '[1,2,3,4,5,6,7,8,9,0],',
    'the answer has more than 1000 bytes',
  ],
])('%s is given up at its bound, and its connection is closed', async (_name, type, piece, says) => {
  const { seen, read } = answering(type, endless(piece))
  await expect(read()).rejects.toThrow(says)
  expect(seen.cancelled).toBe(true)
  expect(seen.given).toBeLessThan(400)
})

test('a stream of many events comes through as it is, however it is cut and whichever line ends it has', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.integer({ min: 1, max: 50 }),
      async (end, size) => {
        const text = `data: ${'y'.repeat(300)}${end}data: z${end}${end}`.repeat(20)
        const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
          text.slice(index * size, (index + 1) * size),
        )
        expect(await answering('text/event-stream', pieces).read()).toBe(text)
      },
    ),
  )
})

test('a long piece is handed on in short ones, and others run in between', async () => {
  const long = 'data: {"a":1}\n\n'.repeat(1300)
  const ask = boundedFetch(
    limits,
    (what) => new Error(what),
    async () => new Response(long, { headers: { 'content-type': 'text/event-stream' } }),
  )
  let rounds = 0
  let reading = true
  const count = (): void => {
    rounds += 1
    if (reading) setImmediate(count)
  }
  setImmediate(count)
  const lengths: number[] = []
  let text = ''
  for await (const piece of (await ask('http://localhost')).body ?? []) {
    lengths.push(piece.length)
    text += new TextDecoder().decode(piece)
  }
  reading = false
  expect(text).toBe(long)
  expect(Math.max(...lengths)).toBeLessThanOrEqual(8192)
  expect(rounds).toBeGreaterThanOrEqual(lengths.length - 1)
  expect(lengths.length).toBeGreaterThan(2)
})

test.each([
  [
    'an event',
    'text/event-stream',
    `data: ${'['.repeat(101)}\n\n`,
    'one event of the stream has more than 100 levels',
  ],
  ['lines of one event', 'text/event-stream', 'data: {"a":\n'.repeat(101), 'more than 100 levels'],
  ['a body', 'application/json', '{"error":'.repeat(101), 'the answer has more than 100 levels'],
  [
    'a body that says it is none',
    'text/html',
    '{"error":'.repeat(101),
    'the answer has more than 100 levels',
  ],
])('%s that is deeper than any answer is not given to a library', async (_name, type, text, says) => {
  await expect(answering(type, [text]).read()).rejects.toThrow(says)
})

test.each([
  ['text/event-stream', `data: ${'['.repeat(100)}${']'.repeat(100)}\n\n`],
  ['text/event-stream', `data: {"text":"${'[{'.repeat(200)}\\"${'['.repeat(200)}"}\n\n`],
  ['text/event-stream', 'data: [[[\n\n'.repeat(60)],
  ['application/json', JSON.stringify({ text: `"${'{'.repeat(300)}\\` })],
  ['text/html', `it isn"t [so]${' {a}'.repeat(150)}`],
])('brackets in texts, and those of many events, are not deep: %s %#', async (type, text) => {
  expect(await answering(type, [text]).read()).toBe(text)
})
