import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { eventRoutes } from './feed-sse.ts'
import type { Feed, Listener } from './feed.ts'
import type { App, Deps } from './route.ts'

test('a client that takes a little with each beat is left alone, and one that takes nothing is let go', async () => {
  const joined: Listener[] = []
  let handler: (request: object, reply: object) => Promise<unknown> = async () => undefined
  const app = { get: (_path: string, _options: object, given: typeof handler) => void (handler = given) }
  const feed = {
    writes: { hold: () => undefined, buffered: () => 0 },
    resolveStart: () => 0,
    find: async () => ({ sessions: null }),
    join: (one: Listener) => (joined.push(one), () => undefined),
    follow: () => ({ start: () => undefined, stop: () => undefined }),
  } as unknown as Feed
  eventRoutes(app as unknown as App, { log: () => undefined } as unknown as Deps, feed, 10)
  let ends = 0
  const raw = Object.assign(new EventEmitter(), {
    destroyed: false,
    writableLength: 0,
    writeHead: () => undefined,
    write: () => true,
    destroy: () => void (ends += 1),
  })
  await handler({ who: { kind: 'user' }, headers: {}, query: {} }, { raw, hijack: () => undefined })
  const beat = (left: number): void => {
    raw.writableLength = left
    joined[0]?.beat()
  }
  for (let left = 1000; left > 0; left -= 100) beat(left)
  expect(ends).toBe(0)
  for (let n = 0; n < 3; n += 1) beat(500)
  expect(ends).toBe(0)
  beat(500)
  expect(ends).toBe(1)
})
