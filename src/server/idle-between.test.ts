import { setImmediate as nextRound } from 'node:timers/promises'
import { fastify } from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { virtualClock } from '../../test/kits/world.ts'
import { watchIdleTime } from './idle-time.ts'

test('a request counts as use also where nobody looked while it was open', async () => {
  const clock = virtualClock()
  const app = fastify()
  onTestFinished(() => app.close())
  const idle = watchIdleTime(app, clock, () => 0)
  app.get('/quick', async () => 'ok')
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const pass = (ms: number): void => {
    void clock.sleep(ms)
    clock.tick()
  }
  pass(1000)
  const closed = new Promise((resolve) =>
    app.server.once('request', (_request, answer) => answer.once('close', resolve)),
  )
  await (await fetch(`${url}/quick`)).text()
  // A look would count as use as long as it is open.
  await closed
  await nextRound()
  pass(10)
  expect(idle.idleMs()).toBe(10)
})
