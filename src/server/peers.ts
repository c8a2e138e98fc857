/**
 * Who is at the other end of a connection that brings no token. Each connection is looked up once, before its
 * first request, in a thread; connections that come together are looked up together.
 */
import type { Socket } from 'node:net'
import { ownFile } from '../own-files.ts'
import { workerPool, type PoolOutcome } from '../runtime/kernel/worker-pool.ts'
import type { FoundPeer, PeerEnds, PeerSearch } from './peer-search.ts'
import { startPeerSockets, type PeerSockets } from './peer-sockets.ts'

export type Peers = {
  /** Whether this machine can tell at all. Where it cannot, every local process is the user. */
  readonly canTell: boolean
  /** Null where it was not looked up yet. */
  known(socket: Socket): FoundPeer | null
  /** Never rejects: a peer that cannot be found is unknown. */
  look(socket: Socket): Promise<FoundPeer>
}

const lookMsMax = 5000
const triesMax = 3
const waitingMax = 10_000
const unknown: FoundPeer = { kind: 'unknown' }
const own: FoundPeer = { kind: 'found', tokens: [], cwd: null }
const never = new AbortController().signal

/** One thread for all servers of a process; it stays, so that the next connection need not wait for its start. */
const pool = workerPool<PeerSearch, never, FoundPeer[]>({
  file: ownFile('server/peer-worker'),
  workersMax: 1,
  queuedMax: 2,
  queuedPerOwnerMax: 2,
  heapMbMax: 64,
  idleMs: 3_600_000,
})

type Waiting = { ends: PeerEnds; settle: (peer: FoundPeer) => void }
let waiting: Waiting[] = []
let searching = false
let sockets: PeerSockets | null = null

export function systemPeers(): Peers {
  if (process.platform !== 'linux')
    return { canTell: false, known: () => own, look: () => Promise.resolve(own) }
  const looked = new WeakMap<Socket, FoundPeer>()
  const looking = new WeakMap<Socket, Promise<FoundPeer>>()
  return {
    canTell: true,
    known: (socket) => looked.get(socket) ?? null,
    look(socket) {
      const known = looking.get(socket)
      if (known !== undefined) return known
      const search = searchPeer(socket).then((peer) => {
        looked.set(socket, peer)
        return peer
      })
      looking.set(socket, search)
      return search
    },
  }
}

function searchPeer({ remoteAddress, remotePort, localAddress, localPort }: Socket): Promise<FoundPeer> {
  if (remoteAddress === undefined || remotePort === undefined || localAddress === undefined)
    return Promise.resolve(unknown)
  if (waiting.length >= waitingMax) return Promise.resolve(unknown)
  const ends = {
    address: remoteAddress,
    port: remotePort,
    serverAddress: localAddress,
    serverPort: localPort ?? 0,
  }
  return new Promise((settle) => {
    waiting.push({ ends, settle })
    if (!searching) void searchAll()
  })
}

async function searchAll(): Promise<void> {
  searching = true
  while (waiting.length > 0) {
    const batch = waiting
    waiting = []
    const asked = batch.map(({ ends }) => ends)
    const found = await (sockets ??= startPeerSockets())
      .find(asked)
      .then((known) => search({ asked, sockets: known }))
    batch.forEach(({ settle }, index) => settle(found[index] ?? unknown))
  }
  searching = false
}

const search = (order: PeerSearch): Promise<FoundPeer[]> =>
  askUntilAnswered(() => pool.run({ order, owner: 'peers', msMax: lookMsMax, signal: never }))

/** A thread that had no time says nothing about a peer: it is asked again before the peer counts as unknown. */
export async function askUntilAnswered<Found>(ask: () => Promise<PoolOutcome<Found[]>>): Promise<Found[]> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    const outcome = await ask().catch(() => null)
    if (outcome?.kind === 'answer') return outcome.value
  }
  return []
}

/** Starts the thread and its helper, so that the first connection does not wait for them. */
export async function warmPeers(): Promise<void> {
  if (process.platform !== 'linux') return
  sockets ??= startPeerSockets()
  await search({ asked: [], sockets: [] })
}
