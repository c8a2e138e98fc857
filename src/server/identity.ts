/**
 * Who a request is. The server's token is the user's; a session's token acts only as that session, a turn's
 * only in that turn while it lives. Without a token, on a loopback address, the user's own programs are the
 * user: those of other users, those inside a sandbox, and those that a turn started are nobody.
 * Capability tokens are stateless: `tls_<session>.<mac>` and `tlt_<turn>.<mac>`, signed with the server's
 * secret, so that a restart forgets nobody and nothing is stored.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { SessionId, TurnId } from '../model/id.ts'
import type { Socket } from 'node:net'
import type { Refusal } from '../model/refusal.ts'
import { isCapability } from '../model/turn-variable.ts'
import type { Who } from '../runtime/desk/asker.ts'
import { loggedPath } from './log-sink.ts'
import type { FoundPeer } from './peer-search.ts'
import type { Peers } from './peers.ts'

/** A request as far as it says who sends it: Fastify's and Node's both fit. */
export type Asking = { headers: IncomingHttpHeaders; url?: string | undefined; socket: Socket }

export type Identity = {
  /** `open`: the user's own programs on this machine need no token. */
  readonly mode: 'tokens' | 'open'
  /** Looks up who is behind a connection, where only that can tell who asks. Null where nothing is to be done. */
  learn(request: Asking): Promise<unknown> | null
  /** After `learn`; a peer that was not looked up is nobody. */
  of(request: Asking): Who | Refusal
  /** The directory that the process behind a request works in; null where nobody had to look, or could. */
  seenIn(request: Asking): string | null
  /** What acts as that session, and as nobody else. */
  tokenOf(session: SessionId): string
}

export type IdentityOptions = {
  auth: 'tokens' | 'open'
  token: string | null
  secret: Uint8Array
  peers: Peers
}

const sessionPrefix = 'tls_'
const turnPrefix = 'tlt_'
const notAuthenticated: Refusal = { code: 'not_authenticated' }
const user: Who = { kind: 'user' }

export const mintSessionToken = (secret: Uint8Array, session: SessionId): string =>
  mint(secret, sessionPrefix, session)
export const mintTurnToken = (secret: Uint8Array, turn: TurnId): string => mint(secret, turnPrefix, turn)

const mint = (secret: Uint8Array, prefix: string, id: string): string =>
  `${prefix}${id}.${computeMac(secret, prefix, id)}`
/** The prefix is signed too: a token of one kind is never one of the other. */
const computeMac = (secret: Uint8Array, prefix: string, id: string): string =>
  createHmac('sha256', secret).update(`${prefix}${id}`).digest('base64url')

export function createIdentity({ auth, token, secret, peers }: IdentityOptions): Identity {
  const expected = token === null ? null : digest(token)
  const bringsUsers = (tokens: readonly string[]): boolean =>
    expected !== null && tokens.some((one) => timingSafeEqual(digest(one), expected))
  return {
    mode: auth,
    tokenOf: (session) => mintSessionToken(secret, session),
    seenIn({ socket }) {
      const peer = peers.known(socket)
      return peer?.kind === 'found' ? peer.cwd : null
    },
    learn(request) {
      if (auth === 'tokens' || peers.known(request.socket) !== null) return null
      const tokens = tokensIn(request)
      return tokens.some(isCapability) || bringsUsers(tokens) ? null : peers.look(request.socket)
    },
    of(request) {
      const tokens = tokensIn(request)
      // The narrowest token decides: a client that brings the user's and a session's acts as the session. A
      // broken one never falls back to the user.
      const capability = tokens.find(isCapability)
      if (capability !== undefined) return readBearer(secret, capability) ?? notAuthenticated
      if (bringsUsers(tokens)) return user
      return auth === 'tokens' ? notAuthenticated : judgePeer(secret, peers.known(request.socket))
    },
  }
}

function judgePeer(secret: Uint8Array, peer: FoundPeer | null): Who | Refusal {
  switch (peer?.kind) {
    case 'found':
      // A token of another server says nothing here, one of a turn that has ended still does.
      return peer.tokens.some((token) => isCapability(token) && readBearer(secret, token) !== null)
        ? nobody('An agent started this program in its turn, and it must say so')
        : user
    case 'otherUser':
      return nobody('This server belongs to another user of this machine')
    case 'otherNamespace':
      return nobody('This program runs in a sandbox or a container')
    case 'unknown':
    case undefined:
      return nobody('The program behind this connection could not be found')
  }
}

const nobody = (why: string): Refusal => ({ code: 'not_authenticated', why })

/** Digests have one length, so the comparison tells neither the token nor its length. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

function readBearer(secret: Uint8Array, token: string): Who | null {
  const prefix = token.slice(0, sessionPrefix.length)
  const dot = token.lastIndexOf('.')
  if (dot === -1) return null
  const id = token.slice(prefix.length, dot)
  if (!timingSafeEqual(digest(computeMac(secret, prefix, id)), digest(token.slice(dot + 1)))) return null
  // Only ids of its own kind were ever signed with a prefix.
  return prefix === turnPrefix
    ? { kind: 'turn', turn: id as TurnId }
    : { kind: 'session', session: id as SessionId }
}

function tokensIn({ headers, url }: Asking): string[] {
  const tokens: string[] = []
  for (const name of ['x-tieline-session-token', 'x-tieline-token'] as const) {
    const value = headers[name]
    if (typeof value === 'string' && value !== '') tokens.push(value)
  }
  const bearer = headers.authorization === undefined ? null : /^Bearer +(\S+) *$/i.exec(headers.authorization)
  if (bearer?.[1] !== undefined) tokens.push(bearer[1])
  const inQuery =
    url !== undefined && url.includes('token=') && takesQueryToken(loggedPath(url))
      ? new URLSearchParams(url.slice(url.indexOf('?') + 1)).get('token')
      : null
  if (inQuery !== null && inQuery !== '') tokens.push(inQuery)
  return tokens
}

/**
 * Browsers cannot set headers on a WebSocket, and some MCP clients none at all. Elsewhere a token in a URL
 * would end up in logs for nothing.
 */
const takesQueryToken = (path: string): boolean =>
  path === '/ws' || path.startsWith('/ws/') || path === '/mcp' || path.startsWith('/mcp/')

/** One text for each identity, for what is counted or hashed by it. */
export const nameAsker = (who: Who): string =>
  who.kind === 'user' ? 'user' : who.kind === 'session' ? `session:${who.session}` : `turn:${who.turn}`
