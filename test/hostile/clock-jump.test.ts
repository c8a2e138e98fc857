/** A real server whose wall clock is set while a call runs. */
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import { patience, project, start } from '../kits/cli.ts'
import { askAt, until } from '../kits/http.ts'

vi.setConfig(patience)

const preload = fileURLToPath(new URL('../kits/shift-clock.ts', import.meta.url))

test.each([
  ['back one hour: a call of 3 s never ended', -3_600_000],
  ['forward three hours: a call of 3 s ended at once', 10_800_000],
])('the wall clock goes %s', async (_what, shiftMs) => {
  const place = project()
  const server = start(place.cwd, ['serve', '--port', '0', '--json'], {
    NODE_OPTIONS: `--import=${preload}`,
    SHIFT_MS: String(shiftMs),
  })
  await until(() => server.out().includes('\n'), 'the server listens')
  const { url } = JSON.parse(server.out()) as { url: string }
  const began = performance.now()
  const calling = askAt(url, 'POST', '/api/calls', { agent: 'helper', task: 'wait', timeout_seconds: 3 })
  await until(async () => (await askAt(url, 'GET', '/api/calls')).body.calls.length === 1, 'the call is open')
  server.child.kill('SIGUSR2')
  await server.says(`the wall clock is ${shiftMs} ms off`)
  const { body } = await calling
  const tookMs = performance.now() - began
  expect(body).toMatchObject({ outcome: 'timed_out' })
  expect(tookMs).toBeGreaterThan(2990)
  expect(tookMs).toBeLessThan(30_000)
  server.child.kill('SIGTERM')
  await server.ended
})
