/** What those are told who wait while the server stops. */
import { expect, test } from 'vitest'
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
