/** What those are told who wait while the server stops. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { SessionId } from '../../src/model/id.ts'
import { serve, until } from '../kits/http.ts'

test('a wait for a session ends with what is known', async () => {
  const { server, line, post, get, open, gate } = await serve()
  const held = await open('held')
  await post(`/api/sessions/${held}/messages`, { message: 'go' })
  await until(() => gate.entered === 1)
  let asked = 0
  for (const name of ['session', 'sessionFacts'] as const) {
    const read = line.store[name].bind(line.store) as (id: SessionId) => Promise<never>
    line.store[name] = (id: SessionId) => ((asked += id === held ? 1 : 0), read(id))
  }
  const waiting = get(`/api/sessions/${held}/wait?timeoutMs=600000`)
  // It waits once it has looked.
  await until(() => asked > 0)
  const closed = server.close()
  expect([(await waiting).status, (await waiting).body.isActive]).toEqual([200, true])
  await closed
})

test('who does not leave by itself in a moment is cut off, and the stop does not wait for it', async () => {
  const { server } = await serve({ limits: { headersMsMax: 600_000, requestMsMax: 600_000 } })
  const socket = connect(server.port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => undefined)
  // What it is told is read, or it never sees the end.
  socket.resume()
  let isClosed = false
  socket.on('close', () => (isClosed = true))
  // A request whose body never comes.
  const head = ['POST /api/calls HTTP/1.1', `host: 127.0.0.1:${server.port}`, 'content-length: 9', '', '{']
  const arrived = once(server.app.server, 'request')
  socket.write(head.join('\r\n'))
  await arrived
  const closed = server.close()
  await until(() => isClosed)
  await closed
})
