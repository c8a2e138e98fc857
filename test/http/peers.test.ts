import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createIdentity, mintTurnToken } from '../../src/server/identity.ts'
import { findRow, searchPeers } from '../../src/server/peer-search.ts'
import { startPeerSockets } from '../../src/server/peer-sockets.ts'
import { systemPeers } from '../../src/server/peers.ts'
import { listen, serve } from '../kits/http.ts'
import { asAnotherUser, askWithCurl, inAnotherNamespace, sayUntried } from '../kits/peers.ts'

const onLinux = process.platform === 'linux'
const noOtherUser = sayUntried('requests of another user (needs root)', asAnotherUser)
const noNamespace = sayUntried('requests from another pid namespace (needs unshare)', inAnotherNamespace)
const nobody = { status: 401, code: 'not_authenticated' }

describe.skipIf(!onLinux)('on loopback without a token', () => {
  test("the user's own programs are the user, as the documented curl commands expect", async () => {
    const { url } = await serve()
    expect(await askWithCurl(`${url}/api/agents`)).toMatchObject({ status: 200 })
    const local = url.replace('127.0.0.1', 'localhost')
    expect(await askWithCurl(`${local}/api/agents`)).toMatchObject({ status: 200 })
  })

  test.skipIf(noOtherUser)('another user of this machine runs nothing and reads nothing', async () => {
    const { url } = await serve()
    const before = asAnotherUser ?? []
    for (const path of ['/api/agents', '/api/sessions', '/api/events', '/metrics', '/api/server', '/ws'])
      expect(await askWithCurl(url + path, { before })).toMatchObject(nobody)
    const call = ['-d', '{"agent":"echo","task":"run this"}', '-H', 'content-type: application/json']
    const said = await askWithCurl(`${url}/api/calls`, { before, args: call })
    expect(said).toMatchObject(nobody)
    expect(said.message).toContain('another user')
    expect(said.message).toContain('the file "token"')
    expect(await askWithCurl(`${url}/health`, { before })).toMatchObject({ status: 200 })
  })

  test.skipIf(noOtherUser)('another user gets in with the token of the server', async () => {
    const { url } = await serve({ token: 'right' })
    const before = asAnotherUser ?? []
    const ask = (token: string) =>
      askWithCurl(`${url}/api/agents`, { before, args: ['-H', `authorization: Bearer ${token}`] })
    expect(await ask('right')).toMatchObject({ status: 200 })
    expect(await ask('wrong')).toMatchObject(nobody)
  })

  test.skipIf(noOtherUser)('another user opens no WebSocket', async () => {
    const { url } = await serve()
    const upgrade = ['connection: Upgrade', 'upgrade: websocket', 'sec-websocket-version: 13']
    const headers = [...upgrade, 'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA=='].flatMap((one) => ['-H', one])
    const args = ['--http1.1', '--max-time', '5', ...headers]
    expect(await askWithCurl(`${url}/ws`, { before: asAnotherUser ?? [], args })).toMatchObject(nobody)
    // The same request is welcome from here.
    await (await listen(url)).close()
  })

  test.skipIf(noNamespace)(
    'a program in another pid namespace is nobody, also as the same user',
    async () => {
      const { url } = await serve()
      const said = await askWithCurl(`${url}/api/agents`, { before: inAnotherNamespace ?? [] })
      expect(said).toMatchObject(nobody)
      expect(said.message).toContain('sandbox')
    },
  )

  test('what a turn started is nobody without the token, even if it drops its environment', async () => {
    const { url, secret } = await serve()
    const env = { TIELINE_TOKEN: mintTurnToken(secret, 'turn_1') }
    const said = await askWithCurl(`${url}/api/agents`, { env })
    expect(said).toMatchObject(nobody)
    expect(said.message).toContain('$TIELINE_TOKEN')
    // The shell that starts it still has it; the second command keeps the shell from becoming curl itself.
    const before = ['sh', '-c', 'env -i PATH="$PATH" "$@"; true', 'sh']
    expect(await askWithCurl(`${url}/api/agents`, { env, before })).toMatchObject(nobody)
  })

  test('a token of another server in the environment is nothing to this one', async () => {
    const { url } = await serve()
    const env = { TIELINE_TOKEN: mintTurnToken(Buffer.from('another secret'), 'turn_1') }
    expect(await askWithCurl(`${url}/api/agents`, { env })).toMatchObject({ status: 200 })
  })

  test('a connection is looked up once, and a peer that was not looked up is nobody', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
    onTestFinished(() => void client.destroy())
    const [socket] = (await once(server, 'connection')) as [Socket]
    const identity = createIdentity({
      auth: 'open',
      token: null,
      secret: Buffer.from('x'),
      peers: systemPeers(),
    })
    const request = { headers: {}, socket }
    expect(identity.of(request)).toMatchObject({ code: 'not_authenticated' })
    await identity.learn(request)
    expect(identity.learn(request)).toBeNull()
    expect(identity.of(request)).toEqual({ kind: 'user' })
    const { remoteAddress: address = '', remotePort: port = 0 } = socket
    const ends = { address, port, serverAddress: '127.0.0.1', serverPort: socket.localPort ?? 0 }
    const found = [{ kind: 'found', tokens: [], cwd: null }, { kind: 'unknown' }]
    const asked = [ends, { ...ends, port: 1 }]
    // With the helper and without it.
    expect(searchPeers({ asked, sockets: await startPeerSockets().find(asked) })).toEqual(found)
    expect(searchPeers({ asked, sockets: null })).toEqual(found)
  })
})

test('a peer is found in the tables of the kernel by both ends, over IPv4, IPv6 and both at once', () => {
  const head =
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode'
  const row = (ends: string, uid: number, inode: number): string =>
    `   1: ${ends} 01 00000000:00000000 00:00000000 00000000 ${uid}        0 ${inode} 1 0000 20 4 30 10 -1`
  const tcp = [head, row('0100007F:C350 0100007F:205B', 1000, 77), ''].join('\n')
  const one = '00000000000000000000000001000000'
  const mapped = '0000000000000000FFFF00000100007F'
  const rows = [row(`${one}:C351 ${one}:205B`, 7, 78), row(`${mapped}:C352 ${mapped}:205B`, 8, 79), '']
  const tables = [tcp, [head, ...rows].join('\n')]
  const find = (address: string, port: number) =>
    findRow(tables, { address, port, serverAddress: address, serverPort: 8283 })
  expect(find('127.0.0.1', 50_000)).toEqual({ uid: 1000, inode: 77 })
  expect(find('::ffff:127.0.0.1', 50_000)).toEqual({ uid: 1000, inode: 77 })
  expect(find('::1', 50_001)).toEqual({ uid: 7, inode: 78 })
  expect(find('127.0.0.1', 50_002)).toEqual({ uid: 8, inode: 79 })
  expect(find('127.0.0.1', 50_003)).toBeNull()
})
