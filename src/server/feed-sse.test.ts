import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { eventRoutes } from './feed-sse.ts'
import type { Feed, Listener } from './feed.ts'
import type { App, Deps } from './route.ts'

/** The route, asked by a client that takes nothing by itself. */
function openRoute() {
  const joined: Listener[] = []
  const begun: unknown[] = []
  let handler: (request: object, reply: object) => Promise<unknown> = async () => undefined
  const app = { get: (_path: string, _options: object, given: typeof handler) => void (handler = given) }
  const feed = {
    writes: { hold: () => undefined, buffered: () => 0 },
    resolveStart: (after: unknown) => (begun.push(after), 0),
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
  const ask = (headers = {}, query = {}): Promise<unknown> =>
    handler({ who: { kind: 'user' }, headers, query }, { raw, hijack: () => undefined })
  return { ask, raw, joined, begun, ends: () => ends }
}

test('a client that takes a little with each beat is left alone, and one that takes nothing is let go', async () => {
  const { ask, raw, joined, ends } = openRoute()
  await ask()
  const beat = (left: number): void => {
    raw.writableLength = left
    joined[0]?.beat()
  }
  for (let left = 1000; left > 0; left -= 100) beat(left)
  expect(ends()).toBe(0)
  for (let n = 0; n < 3; n += 1) beat(500)
  expect(ends()).toBe(0)
  beat(500)
  expect(ends()).toBe(1)
})

test('a client that has no event yet begins now, and one that says where is given that', async () => {
  const { ask, begun } = openRoute()
  await ask()
  await ask({ 'last-event-id': '' })
  await ask({ 'last-event-id': '7' })
  await ask({ 'last-event-id': '7' }, { after: '9' })
  expect(begun).toEqual([null, null, '7', '9'])
})
