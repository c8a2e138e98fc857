import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { turnVariable } from '../model/turn-variable.ts'

const script = `
import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { searchPeers } from ${JSON.stringify(join(import.meta.dirname, 'peer-search.ts'))}
const server = createServer((socket) => {
  const { remoteAddress: address, remotePort: port, localAddress: serverAddress, localPort: serverPort } = socket
  console.log(JSON.stringify(searchPeers({ asked: [{ address, port, serverAddress, serverPort }], sockets: null })))
  process.exit()
})
const connect = () => "require('node:net').connect(" + server.address().port + ", '127.0.0.1')"
server.listen(0, '127.0.0.1', () => spawn(process.execPath, ['-e', connect()], { env: {} }))
`

test.skipIf(process.platform !== 'linux')(
  'what started a server is nothing that the programs below it were started by',
  async () => {
    const run = promisify(execFile)
    const env = { PATH: process.env['PATH'], [turnVariable]: 'tlt_turn_1.mac' }
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], { env })
    expect(JSON.parse(stdout)).toMatchObject([{ kind: 'found', tokens: [] }])
  },
)
