import { expect, test } from 'vitest'
import { closeWhenUnused } from './own-server.ts'

test('Ctrl-C ends the wait for the turns of others also where it comes while they are listed', async () => {
  const interrupt = new AbortController()
  let closed = 0
  const list = async (): Promise<object> => {
    interrupt.abort()
    return { sessions: [] }
  }
  const server = {
    url: 'http://127.0.0.1:1',
    token: null,
    line: {
      running: () => 1,
      idle: () => new Promise(() => undefined),
      desks: { as: () => ({ sessions: { list } }) },
    },
    close: async () => void (closed += 1),
  }
  const input = { flags: {}, err: { write: () => true }, signal: interrupt.signal }
  await closeWhenUnused(server as never, input as never)
  expect(closed).toBe(1)
})
