/** What those are told who wait while the server stops. */
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { serve, until } from '../kits/http.ts'

test('a wait for a session ends with what is known', async () => {
  const { server, post, get, open, gate } = await serve()
  const held = await open('held')
  await post(`/api/sessions/${held}/messages`, { message: 'go' })
  await until(() => gate.entered === 1)
  const waiting = get(`/api/sessions/${held}/wait?timeoutMs=600000`)
  // The wait has arrived when its connection is in use.
  await until(() => server.idleMs() === 0)
  await get('/api/agents')
  const closed = server.close()
  expect([(await waiting).status, (await waiting).body.isActive]).toEqual([200, true])
  await closed
})

test('who does not leave by itself in a moment is cut off, and the stop does not wait for it', async () => {
  const { server } = await serve({ limits: { headersMsMax: 600_000, requestMsMax: 600_000 } })
  const socket = connect(server.port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => undefined)
  let isClosed = false
  socket.on('close', () => (isClosed = true))
  socket.write('GET /health HTTP/1.1\r\nhost: ')
  await until(() => socket.bytesWritten > 0)
  const closed = server.close()
  await until(() => isClosed)
  await closed
})
