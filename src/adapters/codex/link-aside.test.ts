import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocketServer } from 'ws'
import { scratch } from '../../../test/kits/client.ts'
import type { Desks } from '../../runtime/desk/desk.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { codexLink } from './link.ts'

test('a thread that is no conversation is looked at once, and is no session', async () => {
  const codexHome = scratch()
  const folder = join(codexHome, 'app-server-control')
  mkdirSync(folder, { mode: 0o700 })
  const asked: string[] = []
  const http = createServer()
  new WebSocketServer({ server: http }).on('connection', (ws) =>
    ws.on('message', (data: Buffer) => {
      const { id, method } = JSON.parse(data.toString()) as { id?: number; method: string }
      asked.push(method)
      const thread = { cwd: '/work', ephemeral: true }
      const result = method === 'thread/loaded/list' ? { data: ['t1'] } : { thread }
      if (id !== undefined) ws.send(JSON.stringify({ id, result }))
    }),
  )
  http.listen(join(folder, 'app-server-control.sock'))
  await once(http, 'listening')
  onTestFinished(() => void http.close())
  const heard: unknown[] = []
  const programs = { hear: async (client: unknown) => heard.push(client), close: async () => null }
  // It looks again at once, and waits for every answer.
  const sleep = (ms: number): Promise<void> =>
    new Promise((resolve) => void (ms < 10_000 && setImmediate(resolve)))
  const link = codexLink({
    desks: { as: () => ({ programs }) } as unknown as Desks,
    clock: { ...systemClock, sleep },
    codexHome,
    uid: process.getuid?.() ?? 0,
    version: '0',
    report: (fault) => heard.push(fault),
  })
  onTestFinished(() => link.close())
  const count = (method: string): number => asked.filter((one) => one === method).length
  await expect.poll(() => count('thread/loaded/list')).toBeGreaterThan(5)
  expect([count('thread/resume'), heard]).toEqual([1, []])
})
