/** Clients that leave while something is still looked up for them: nothing of theirs may stay. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { whenGone } from '../../src/server/route.ts'
import { serve, until, type Served } from '../kits/http.ts'
import { stream } from '../kits/feed.ts'

/** Asks for a path, and leaves once `begun` says that the server is at it. The server has seen it leave. */
async function askAndLeave({ server }: Served, path: string, begun: () => boolean): Promise<void> {
  const asked = once(server.app.server, 'request') as Promise<[IncomingMessage, ServerResponse]>
  const socket = connect(server.port, '127.0.0.1')
  socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${server.port}\r\n\r\n`)
  const [, response] = await asked
  await until(begun)
  const left = once(response, 'close')
  socket.destroy()
  await left
}

test('who leaves while its sessions are looked for is no listener for ever after', async () => {
  const served = await serve({ limits: { listenersMax: 1 } })
  const id = await served.open('echo')
  const found = Promise.withResolvers<void>()
  const { store } = served.line
  const read = store.session.bind(store)
  let asked = 0
  store.session = async (session) => {
    asked += 1
    await found.promise
    return read(session)
  }
  await askAndLeave(served, `/api/events?session=${id}`, () => asked > 0)
  found.resolve()
  store.session = read
  const again = await stream(served.url)
  expect(again.status).toBe(200)
  again.stop()
})

test('who left before anybody listened for it has gone, and a server that stopped before has stopped', async () => {
  const held = Promise.withResolvers<void>()
  const reached: AbortSignal[] = []
  let begun = false
  const served = await serve({
    doors: [
      async (app) => {
        app.get('/held', async (_request, reply) => {
          begun = true
          await held.promise
          reached.push(whenGone(reply), whenGone(reply, AbortSignal.timeout(600_000)))
          return reply.hijack()
        })
        app.get('/late', async (_request, reply) => {
          reached.push(whenGone(reply, AbortSignal.abort(new Error('the server stops'))))
          return {}
        })
      },
    ],
  })
  await askAndLeave(served, '/held', () => begun)
  held.resolve()
  await until(() => reached.length === 2)
  expect(reached.map(({ reason }) => (reason as Error | undefined)?.message)).toEqual([
    'the client has gone',
    'the client has gone',
  ])
  await served.get('/late')
  expect(reached.at(-1)?.reason).toEqual(new Error('the server stops'))
})
