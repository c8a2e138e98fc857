import { fastify } from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { virtualClock } from '../../test/kits/world.ts'
import { watchIdleTime } from './idle-time.ts'

test('a request that is open, and a connection, are use; a probe is none', async () => {
  const clock = virtualClock()
  const app = fastify()
  onTestFinished(() => app.close())
  let sockets = 0
  const idle = watchIdleTime(app, clock, () => sockets)
  const held = Promise.withResolvers<string>()
  const began = Promise.withResolvers<void>()
  app.get('/health', async () => 'ok')
  app.get('/slow', () => {
    began.resolve()
    return held.promise
  })
  const pass = (ms: number): void => {
    void clock.sleep(ms)
    clock.tick()
  }
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  pass(1000)
  await (await fetch(`${url}/health`)).text()
  expect(idle.idleMs()).toBe(1000)
  const slow = fetch(`${url}/slow`)
  await began.promise
  pass(1000)
  expect(idle.idleMs()).toBe(0)
  held.resolve('done')
  await (await slow).text()
  await expect.poll(() => (pass(1), idle.idleMs())).toBeGreaterThan(1)
  sockets = 1
  expect(idle.idleMs()).toBe(0)
  sockets = 0
  pass(500)
  expect(idle.idleMs()).toBe(500)
})
