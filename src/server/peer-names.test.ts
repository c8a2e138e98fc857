import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { turnVariable } from '../model/turn-variable.ts'

/** The peer is a shell under a name of its own with an empty environment; what started it has a turn's token. */
const script = (named: string): string => `
import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { searchPeers } from ${JSON.stringify(join(import.meta.dirname, 'peer-search.ts'))}
const server = createServer((socket) => {
  const { remoteAddress: address, remotePort: port, localAddress: serverAddress, localPort: serverPort } = socket
  console.log(JSON.stringify(searchPeers({ asked: [{ address, port, serverAddress, serverPort }], sockets: null })))
  process.exit()
})
const start = (...args) =>
  "require('node:child_process').spawn(" + args.map((one) => JSON.stringify(one)).join(', ') + ', { env: {} })'
server.listen(0, '127.0.0.1', () => {
  const connect = 'exec 3<>/dev/tcp/127.0.0.1/' + server.address().port + '; read line <&3'
  const env = { ${turnVariable}: 'tlt_turn_1.mac' }
  spawn(process.execPath, ['-e', start(${JSON.stringify(named)}, ['-c', connect])], { env })
})
`

/** It keeps the name that it was started by. */
const shell = '/bin/bash'

test.skipIf(process.platform !== 'linux' || !existsSync(shell))(
  'a program whose name looks like what the kernel says of it does not hide who started it',
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'tieline-names-'))
    onTestFinished(() => rmSync(directory, { recursive: true }))
    const named = join(directory, 'x) S 1 1 (y')
    symlinkSync(shell, named)
    const run = promisify(execFile)
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script(named)], {
      env: { PATH: process.env['PATH'] },
    })
    expect(JSON.parse(stdout)).toMatchObject([{ kind: 'found', tokens: ['tlt_turn_1.mac'] }])
  },
)
