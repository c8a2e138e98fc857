import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocketServer } from 'ws'
import { scratch } from '../../../test/kits/client.ts'
import { connectCodex } from './rpc.ts'

test('what waits for a late answer ends when the answer is there', async () => {
  const path = join(scratch(), 'codex.sock')
  const http = createServer()
  new WebSocketServer({ server: http }).on('connection', (ws) =>
    ws.on('message', (data: Buffer) => {
      const { id } = JSON.parse(data.toString()) as { id: number }
      ws.send(JSON.stringify({ id, result: 'yes' }))
    }),
  )
  http.listen(path)
  await once(http, 'listening')
  onTestFinished(() => void http.close())
  let waiting = 0
  const sleep = (_ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((_resolve, reject) => {
      waiting += 1
      signal?.addEventListener('abort', () => {
        waiting -= 1
        reject(new Error('answered'))
      })
    })
  const rpc = await connectCodex(path, sleep, () => undefined)
  onTestFinished(() => rpc.close())
  expect(await rpc.ask('initialize', {})).toBe('yes')
  expect(waiting).toBe(0)
})
