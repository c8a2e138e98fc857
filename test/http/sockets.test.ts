import { once } from 'node:events'
import { expect, test } from 'vitest'
import WebSocket from 'ws'
import { serve } from '../kits/http.ts'

test('other protocols learn who connects; dead peers are dropped, the rest hear that the server stops', async () => {
  const who: unknown[] = []
  const served = await serve({
    auth: 'tokens',
    token: 'right',
    limits: { beatMs: 40, listenersMax: 2 },
    sockets: {
      '/ws/echo': (ws, from) => {
        who.push(from)
        ws.on('message', (data) => ws.send((data as Buffer).toString()))
      },
    },
  })
  const at = served.url.replace('http', 'ws')
  const join = async (query: string): Promise<WebSocket> => {
    const ws = new WebSocket(`${at}/ws/echo${query}`)
    ws.on('error', () => undefined)
    await once(ws, 'open')
    return ws
  }
  await expect(join('')).rejects.toThrow('401')
  const [alive, dead] = [await join('?token=right'), await join('?token=right')]
  expect(who).toEqual([{ kind: 'user' }, { kind: 'user' }])
  expect(served.server.sockets()).toBe(2)
  const third = await join('?token=right')
  expect((await once(third, 'close'))[0]).toBe(1013)
  ;(dead as unknown as { _autoPong: boolean })._autoPong = false
  expect((await once(dead, 'close'))[0]).toBe(1006)
  alive.send('x'.repeat(100_000))
  expect(((await once(alive, 'message'))[0] as Buffer).length).toBe(100_000)
  const closed = once(alive, 'close')
  await served.server.close()
  expect((await closed)[0]).toBe(1001)
})
