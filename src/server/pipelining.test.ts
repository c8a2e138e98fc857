import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { pipelining } from './pipelining.ts'

test('a connection has 64 requests without an answer, and is closed with one more', () => {
  const lines = pipelining()
  const [socket, other] = [new Socket(), new Socket()]
  for (let n = 0; n < 64; n += 1) expect(lines.begin(socket)).toBe(true)
  expect([socket.destroyed, lines.begin(other)]).toEqual([false, true])
  expect([lines.begin(socket), socket.destroyed, other.destroyed]).toEqual([false, true, false])
})

test('an answer makes room for the next request', () => {
  const lines = pipelining()
  const socket = new Socket()
  for (let n = 0; n < 64; n += 1) lines.begin(socket)
  for (let n = 0; n < 100; n += 1) {
    lines.end(socket)
    expect(lines.begin(socket)).toBe(true)
  }
  expect([socket.destroyed, lines.begin(socket), socket.destroyed]).toEqual([false, false, true])
})
