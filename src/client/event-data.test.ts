import fc from 'fast-check'
import { expect, test } from 'vitest'
import { eventData } from './event-data.ts'

const createStream = (bytes: Uint8Array, sizes: readonly number[]): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start(controller) {
      for (let at = 0, n = 0; at < bytes.length; n++)
        controller.enqueue(bytes.subarray(at, (at += sizes[n % sizes.length] ?? 1)))
      controller.close()
    },
  })
async function read(text: string, sizes: readonly number[] = [1000]): Promise<string[]> {
  const found: string[] = []
  for await (const data of eventData(createStream(new TextEncoder().encode(text), sizes))) found.push(data)
  return found
}

test('the data of each event, without comments and names', async () => {
  expect(await read(': begun\n\nevent: message\ndata: {"a":1}\n\nid: 5\ndata:two\ndata: lines\n\n')).toEqual([
    '{"a":1}',
    'two\nlines',
  ])
})

test('an event that was not ended is none', async () =>
  expect(await read('data: 1\n\ndata: 2\n')).toEqual(['1']))

test('an event that never ends is given up at its bound, and its stream is cancelled', async () => {
  const given = { pieces: 0, cancelled: false }
  const endless = (line: string): ReadableStream<Uint8Array> =>
    new ReadableStream({
      pull(controller) {
        given.pieces += 1
        controller.enqueue(new TextEncoder().encode(line))
      },
      cancel: () => void (given.cancelled = true),
    })
  for (const line of ['x'.repeat(1000), `data: ${'x'.repeat(1000)}\n`]) {
    Object.assign(given, { pieces: 0, cancelled: false })
    await expect(eventData(endless(line), 100_000).next()).rejects.toThrow('longer than 100000 characters')
    expect(given.pieces).toBeLessThan(110)
    expect(given.cancelled).toBe(true)
  }
})

test('however the bytes are cut, and whichever line ends are used', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom('a', '😀', 'ü', '"'), { minLength: 1 }),
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
      async (parts, end, sizes) => {
        const data = parts.join('')
        expect(
          await read(
            `data: ${data}${end}data: more${end}${end}: x${end}${end}data: last${end}${end}\n`,
            sizes,
          ),
        ).toEqual([`${data}\nmore`, 'last'])
      },
    ),
  )
})
