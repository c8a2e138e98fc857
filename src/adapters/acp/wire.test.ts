import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { openMessages } from './wire.ts'

const message = (n: number): string => `${JSON.stringify({ jsonrpc: '2.0', method: 'm', params: { n } })}\n`

function open() {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()]
  const faults: unknown[] = []
  const { readable, garbage } = openMessages({ stdin, stdout }, (fault) => faults.push(fault))
  return { stdout, readable, garbage, faults }
}

async function readAll(readable: ReadableStream<unknown>): Promise<number[]> {
  const seen: number[] = []
  for await (const one of readable) seen.push((one as { params: { n: number } }).params.n)
  return seen
}

test('messages come in their order, also those after which the pipe ends at once', async () => {
  const { stdout, readable } = open()
  const numbers = Array.from({ length: 1000 }, (_, n) => n)
  stdout.end(numbers.map(message).join(''))
  expect(await readAll(readable)).toEqual(numbers)
})

test('a flood of messages in one piece is taken over many rounds, and others run between', async () => {
  const { stdout, readable } = open()
  let rounds = 0
  let counting = true
  const count = (): void => {
    rounds += 1
    if (counting) setImmediate(count)
  }
  setImmediate(count)
  stdout.end(Array.from({ length: 1000 }, (_, n) => message(n)).join(''))
  await readAll(readable)
  counting = false
  expect(rounds).toBeGreaterThan(1000 / 32 - 2)
})

test('what is no message, and what is too long to be one, is passed over', async () => {
  const { stdout, readable, garbage, faults } = open()
  stdout.write('Welcome!\n')
  stdout.write(`{"text":"${'x'.repeat(5 * 1024 * 1024)}"}\n`)
  stdout.end(`{not json\n${message(7)}`)
  expect(await readAll(readable)).toEqual([7])
  expect(garbage()).toBe('Welcome!\n(a line of more than 4194304 bytes)\n{not json\n')
  expect(faults).toEqual([])
})
