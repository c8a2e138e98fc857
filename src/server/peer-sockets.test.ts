import { expect, test } from 'vitest'
import { startPeerSockets } from './peer-sockets.ts'

const ends = { address: '127.0.0.1', port: 1, serverAddress: '127.0.0.1', serverPort: 2 }

test.each([
  ['never says that it is ready', ['/bin/sleep', '60']],
  ['stops answering', ['/bin/sh', '-c', 'echo ready; sleep 60']],
  ['is not there', ['/no/such/program']],
])('a helper that %s does not keep connections waiting', async (_name, command) => {
  expect(await startPeerSockets(command).find([ends])).toBeNull()
})
