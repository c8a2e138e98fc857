/** A call on the command line whose server is killed. */
import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { expect, test, vi } from 'vitest'
import { patience, project, start } from '../kits/cli.ts'

vi.setConfig(patience)

async function findFreePort(): Promise<string> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return String(port)
}

test('a call was cancelled by its own command when the next server was at the same address at once', async () => {
  const script = [{ say: 'done: {{task}}', delayMs: 5000 }]
  const { cwd } = project({ agents: { slow: { driver: 'scripted', script } } })
  const port = await findFreePort()
  const serve = () => start(cwd, ['serve', '--json', '--port', port])
  const first = serve()
  await first.says('"url"')
  const call = start(cwd, ['call', 'slow', 'Do it', '--timeout', '60'])
  await vi.waitFor(() => expect(call.err()).toContain('you calling slow'), { timeout: 60_000, interval: 50 })
  first.child.kill('SIGKILL')
  await first.ended
  const second = serve()
  try {
    const { code, out, err } = await call.ended
    expect({ code, out: out.trim(), err }).toMatchObject({ code: 0, out: 'done: Do it' })
  } finally {
    second.child.kill('SIGTERM')
    await second.ended
  }
})
