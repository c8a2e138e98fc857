import { tmpdir } from 'node:os'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { stdioTransport } from './stdio-transport.ts'

test('of all that a server says about itself its last words are kept, so that its fault is among them', async () => {
  const program = `
    process.stderr.write('x'.repeat(10_000) + '\\n')
    process.stderr.write('at last: the key is missing\\n')
  `
  const transport = stdioTransport(
    { program: process.execPath, args: ['-e', program], env: {}, cwd: tmpdir() },
    systemClock,
  )
  onTestFinished(() => transport.close())
  const closed = new Promise<void>((resolve) => (transport.onclose = resolve))
  await transport.start()
  await closed
  expect(transport.stderr()).toMatch(/xx\nat last: the key is missing$/)
  expect(transport.stderr().length).toBeLessThanOrEqual(2000)
})
