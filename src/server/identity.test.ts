import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { createIdentity, mintSessionToken, mintTurnToken, type Asking } from './identity.ts'
import type { FoundPeer } from './peer-search.ts'

const secret = Buffer.from('a secret')
const other = Buffer.from('the secret of another server')

/** An identity that finds this peer behind every connection, and how often it looked. */
function identityOf(peer: FoundPeer | null, auth: 'tokens' | 'open' = 'open') {
  const looked: Socket[] = []
  const known = new Map<Socket, FoundPeer>()
  const identity = createIdentity({
    auth,
    token: "the user's",
    secret,
    peers: {
      canTell: true,
      known: (socket) => known.get(socket) ?? null,
      async look(socket) {
        looked.push(socket)
        const found = peer ?? { kind: 'unknown' }
        known.set(socket, found)
        return found
      },
    },
  })
  return { identity, looked }
}

const ask = (headers: Record<string, string> = {}, url = '/api/agents'): Asking => ({
  headers,
  url,
  socket: new Socket(),
})

const nobody = { code: 'not_authenticated' }
const found = (...tokens: string[]): FoundPeer => ({ kind: 'found', tokens, cwd: '/work' })

test.each([
  ["the user's own program", found(), { kind: 'user' }],
  [
    'what a turn started',
    found(mintTurnToken(secret, 'turn_1')),
    { ...nobody, why: expect.stringMatching(/An agent started/) as string },
  ],
  ['what another server started', found(mintTurnToken(other, 'turn_1')), { kind: 'user' }],
  ['both', found(mintTurnToken(other, 'turn_1'), mintTurnToken(secret, 'turn_1')), nobody],
  [
    'a program of another user',
    { kind: 'otherUser' },
    { ...nobody, why: expect.stringMatching(/another user/) as string },
  ],
  [
    'a program in a container',
    { kind: 'otherNamespace' },
    { ...nobody, why: expect.stringMatching(/sandbox/) as string },
  ],
  [
    'a program that was not found',
    { kind: 'unknown' },
    { ...nobody, why: expect.stringMatching(/could not be found/) as string },
  ],
] satisfies [string, FoundPeer, object][])('without a token: %s', async (_name, peer, who) => {
  const { identity, looked } = identityOf(peer)
  const request = ask()
  expect(identity.of(request)).toMatchObject(nobody)
  await identity.learn(request)
  expect(identity.of(request)).toMatchObject(who)
  expect(identity.seenIn(request)).toBe(peer.kind === 'found' ? '/work' : null)
  expect([identity.learn(request), looked.length]).toEqual([null, 1])
})

test('where a token is needed nobody is looked up, and without one everybody is nobody', () => {
  const { identity, looked } = identityOf(found(), 'tokens')
  expect([identity.learn(ask()), identity.of(ask())]).toEqual([null, nobody])
  expect(identity.of(ask({ authorization: "Bearer the_user's" }))).toEqual(nobody)
  expect(identity.of(ask({ 'x-tieline-token': "the user's" }))).toEqual({ kind: 'user' })
  expect(looked).toEqual([])
})

test('a token says who it is, whoever is behind the connection, and nobody is looked up', () => {
  const { identity, looked } = identityOf({ kind: 'otherUser' })
  const [session, turn] = [mintSessionToken(secret, 'ses_1'), mintTurnToken(secret, 'turn_1')]
  const who = (token: string) => {
    const request = ask({ authorization: `Bearer ${token}` })
    return [identity.learn(request), identity.of(request)]
  }
  expect(who(session)).toEqual([null, { kind: 'session', session: 'ses_1' }])
  expect(who(turn)).toEqual([null, { kind: 'turn', turn: 'turn_1' }])
  // Broken, of the other kind, without a signature, or of another server: nobody, and never the user.
  for (const token of [
    `${session}x`,
    session.replace('tls_', 'tlt_'),
    'tls_ses_1',
    'tls_ses_1.',
    mintSessionToken(other, 'ses_1'),
  ])
    expect(who(token)).toEqual([null, nobody])
  expect(looked).toEqual([])
})

test('a token in the address counts for sockets and MCP alone', () => {
  const { identity } = identityOf(null, 'tokens')
  const token = mintSessionToken(secret, 'ses_1')
  const who = (path: string) => identity.of(ask({}, `${path}?token=${token}`))
  for (const path of ['/ws', '/ws/host', '/mcp', '/mcp/ses_1'])
    expect(who(path)).toEqual({ kind: 'session', session: 'ses_1' })
  for (const path of ['/api/agents', '/wsx', '/mcpx', '/']) expect(who(path)).toEqual(nobody)
})
