import { tmpdir } from 'node:os'
import { expect, onTestFinished, test } from 'vitest'
import type { McpServer } from '../../model/agent.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { connectionTo } from './connection.ts'

const program = `
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'small', version: '1' },
  }),
  'tools/list': () => ({ tools: [] }),
}
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (answers[method] !== undefined) say({ id, result: answers[method](params) })
})
`

test('two that find one connection broken leave the next one alone', async () => {
  const server: McpServer = { command: process.execPath, args: ['-e', program], env: {}, repeatable: [] }
  const connection = connectionTo(
    server,
    {
      clock: systemClock,
      cwd: tmpdir(),
      version: '0.0.0',
      warn: () => undefined,
      env: { PATH: process.env['PATH'] },
      launcher: { wrap: async (command) => ({ ...command, sandboxed: false }) },
    },
    undefined,
  )
  onTestFinished(() => connection.close())
  const broken = await connection.open(null)
  connection.drop(broken)
  const next = await connection.open(null)
  connection.drop(broken)
  expect(next).not.toBe(broken)
  expect(await connection.open(null)).toBe(next)
})
