/**
 * `GET /ws`: events over a WebSocket. A client may say which sessions it follows and where to begin, and
 * change its mind.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer, type WebSocket } from 'ws'
import { z } from 'zod'
import { inletLimits, parseJson } from '../model/bounded-json.ts'
import { contained, faultText } from '../model/contained.ts'
import { readInput } from '../model/read-input.ts'
import { type Refusal, badInput, isRefusal } from '../model/refusal.ts'
import { hostFrameBytesMax } from '../model/limits.ts'
import type { Who } from '../runtime/desk/asker.ts'
import { tooManyListeners, type Feed } from './feed.ts'
import type { Follower } from './feed-follow.ts'
import { loggedPath, type LogSink } from './log-sink.ts'
import { answerSocket } from './plain-answer.ts'
import type { RateLimit } from './rate-limit.ts'
import { wireNo, toWireNo, type WireNo } from './wire-error.ts'
import { answerPings, type Pulse, createPulse } from './socket-pulse.ts'

const frameBytesMax = 64 * 1024
const badFramesMax = 10
const framesWaitingMax = 16
const namedMax = 200

export const closeCodes = { goingAway: 1001, policy: 1008, bug: 1011, tryAgainLater: 1013 } as const

const Subscribe = z.strictObject({
  type: z.literal('subscribe'),
  sessionIds: z.array(z.string().min(1).max(200)).max(namedMax).nullish(),
  after: z.union([z.string().max(20), z.number()]).nullish(),
})

/** Takes a connection that was admitted, and who it is. `onFault` logs what breaks in it, and ends it. */
export type SocketDoor = (ws: WebSocket, who: Who, onFault: (fault: unknown) => void) => void
export type SocketDoors = Readonly<Record<string, SocketDoor>>

export type FeedSocketOptions = {
  doors: SocketDoors
  feed: Feed
  log: LogSink
  rate: RateLimit
  listenersMax: number
  bufferedBytesMax: number
  /** What HTTP would say to this request; or who it is, and by which name it is counted. */
  admit(request: IncomingMessage): Promise<WireNo | { who: Who; client: string }>
}
export type FeedSocket = {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
  /** How many are connected now. */
  count(): number
  /** Ends who is still connected, without a word. */
  terminate(): void
}

export function feedSocket(options: FeedSocketOptions): FeedSocket {
  const settings = { noServer: true, perMessageDeflate: false, clientTracking: false, autoPong: false }
  const server = new WebSocketServer({ ...settings, maxPayload: frameBytesMax })
  // What a connected program says may be as long as an answer.
  const wide = new WebSocketServer({ ...settings, maxPayload: hostFrameBytesMax })
  const broke = (fault: unknown): void =>
    options.log('error', 'a socket broke in the server', { stack: faultText(fault) })
  for (const one of [server, wide])
    one.on(
      'wsClientError',
      contained(broke, (_error, socket: Duplex) =>
        answerSocket(
          socket,
          wireNo('bad_request', 'This is not a WebSocket handshake (RFC 6455, version 13).'),
        ),
      ),
    )
  const sockets = new Set<WebSocket>()
  return {
    async upgrade(request, socket, head) {
      socket.on(
        'error',
        contained(broke, () => socket.destroy()),
      )
      const admitted = await options.admit(request)
      if ('status' in admitted) return answerSocket(socket, admitted)
      const door = options.doors[loggedPath(request.url)]
      const via = door === undefined ? server : wide
      via.handleUpgrade(request, socket, head, (ws) => {
        sockets.add(ws)
        // A frame that is too large or broken is answered by the library with the right code; its error must
        // have a listener.
        ws.on(
          'error',
          contained(broke, (error: Error) =>
            options.log('debug', 'a socket broke', { error: error.message }),
          ),
        )
        ws.on(
          'close',
          contained(broke, () => sockets.delete(ws)),
        )
        contained(
          (fault) => end(ws, broke, fault),
          () => {
            if (door !== undefined) return openDoor(ws, options, (onFault) => door(ws, admitted.who, onFault))
            new Conversation(ws, socket, admitted.who, admitted.client, options).begin(request.url ?? '')
          },
        )()
      })
    },
    count: () => sockets.size,
    terminate() {
      for (const ws of sockets) ws.terminate()
    },
  }
}

/** Something of ours broke while this connection was served: it ends, and nobody else notices. */
function end(ws: WebSocket, broke: (fault: unknown) => void, fault: unknown): void {
  broke(fault)
  ws.close(closeCodes.bug, 'something broke in the server')
}

const tooMany = (listenersMax: number): object => ({
  type: 'error',
  ...toWireNo(tooManyListeners(listenersMax)).body,
})

/** Other protocols only speak: that the peer is still there, and how many there may be, is seen to here. */
function openDoor(
  ws: WebSocket,
  { feed, log, listenersMax, bufferedBytesMax }: FeedSocketOptions,
  open: (onFault: (fault: unknown) => void) => void,
): void {
  const onFault = (fault: unknown): void =>
    end(ws, () => log('error', 'a connected program broke something', { stack: faultText(fault) }), fault)
  const pulse = createPulse(ws, onFault)
  answerPings(ws, bufferedBytesMax, onFault)
  const detach = feed.join({
    beat: () => pulse.beat(),
    end: () => ws.close(closeCodes.goingAway, 'the server stops'),
    held: () => ws.bufferedAmount,
    shed: () => ws.terminate(),
  })
  if (detach === null) {
    ws.send(JSON.stringify(tooMany(listenersMax)))
    return ws.close(closeCodes.tryAgainLater, 'too many connections')
  }
  ws.on('close', contained(onFault, detach))
  open(onFault)
}

class Conversation {
  readonly #ws: WebSocket
  readonly #who: Who
  readonly #client: string
  readonly #options: FeedSocketOptions
  readonly #follower: Follower
  #badFrames = 0
  readonly #pulse: Pulse
  /** Frames are taken one after the other: an answer may need to look something up. */
  #last: Promise<void> = Promise.resolve()
  #waiting = 0

  constructor(ws: WebSocket, socket: Duplex, who: Who, client: string, options: FeedSocketOptions) {
    this.#ws = ws
    this.#who = who
    this.#client = client
    this.#options = options
    const { writes } = options.feed
    this.#pulse = createPulse(ws, this.#onFault)
    this.#follower = options.feed.follow(who, {
      send(frame, sent) {
        // After its close frame nothing may follow.
        if (ws.readyState !== ws.OPEN) return
        writes.hold(socket)
        // Past the library, which would make a header for each listener: it compresses nothing and splits
        // nothing, so whole frames may stand between its own.
        socket.write(frame.socket, sent === undefined ? undefined : () => sent())
      },
      buffered: () => writes.buffered(socket, () => ws.bufferedAmount),
      drop: (lastSeq) => this.#drop(lastSeq),
    })
  }

  begin(url: string): void {
    const ws = this.#ws
    const detach = this.#options.feed.join({
      beat: () => this.#pulse.beat(),
      end: () => this.#close(closeCodes.goingAway, 'the server stops'),
      held: () => ws.bufferedAmount,
      shed: () => ws.terminate(),
    })
    if (detach === null) {
      this.#say(tooMany(this.#options.listenersMax))
      return ws.close(closeCodes.tryAgainLater, 'too many feeds')
    }
    ws.on(
      'close',
      contained(this.#onFault, () => {
        detach()
        this.#follower.stop()
      }),
    )
    answerPings(ws, this.#options.bufferedBytesMax, this.#onFault)
    ws.on(
      'message',
      contained(this.#onFault, (data: Buffer, isBinary: boolean) =>
        this.#receive(isBinary ? null : data.toString('utf8')),
      ),
    )
    const query = new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?') + 1) : '')
    this.#enqueue(() =>
      this.#subscribe({
        sessionIds: query.has('session') ? query.getAll('session').slice(0, namedMax) : null,
        after: query.get('after'),
      }),
    )
  }

  #receive(text: string | null): void {
    const retryInMs = this.#options.rate.take(this.#client)
    if (retryInMs !== null)
      return this.#bad({ code: 'rate_limited', what: 'frames', perMinute: 0, retryInMs })
    if (this.#waiting >= framesWaitingMax)
      return this.#bad(badInput('frame', 'more frames than can be answered', 'an answer to be waited for'))
    this.#pulse.isThere()
    const frame = text === null ? badInput('frame', 'binary data', 'JSON text') : parseSubscribe(text)
    if (isRefusal(frame)) return this.#bad(frame)
    this.#enqueue(() => this.#subscribe(frame))
  }

  #enqueue(work: () => Promise<void>): void {
    this.#waiting += 1
    this.#last = this.#last
      .then(work)
      .catch(this.#onFault)
      .finally(() => (this.#waiting -= 1))
  }

  readonly #onFault = (fault: unknown): void => {
    this.#options.log('error', 'a frame could not be answered', { stack: faultText(fault) })
    this.#close(closeCodes.bug, 'something broke in the server')
  }

  async #subscribe({
    sessionIds,
    after,
  }: Pick<z.infer<typeof Subscribe>, 'sessionIds' | 'after'>): Promise<void> {
    const { feed } = this.#options
    const start = feed.resolveStart(after ?? null)
    if (typeof start === 'object') return this.#bad(start)
    const named = await feed.find(this.#who, sessionIds ?? null)
    if (isRefusal(named)) return this.#bad(named)
    if (this.#ws.readyState !== this.#ws.OPEN) return
    // What comes after this frame belongs to this subscription, and nothing before it.
    this.#follower.stop()
    this.#say({ type: 'subscribed', after: String(start), sessionIds: named.sessions })
    this.#follower.start(start, named.sessions)
  }

  #bad(refusal: Refusal): void {
    this.#badFrames += 1
    this.#say({ type: 'error', ...toWireNo(refusal).body })
    if (this.#badFrames >= badFramesMax) this.#close(closeCodes.policy, 'too many bad frames')
  }

  #say(frame: object): void {
    if (this.#ws.readyState === this.#ws.OPEN) this.#ws.send(JSON.stringify(frame))
  }

  #drop(lastSeq: number): void {
    this.#options.log('warn', 'a slow client was dropped', { lastSeq, buffered: this.#ws.bufferedAmount })
    this.#close(closeCodes.tryAgainLater, `too slow; last seq ${lastSeq}`)
  }

  #close(code: number, reason: string): void {
    this.#follower.stop()
    this.#ws.close(code, reason)
  }
}

function parseSubscribe(text: string): z.infer<typeof Subscribe> | Refusal {
  const given = parseJson(text, 'frame', { ...inletLimits, bytesMax: frameBytesMax })
  if (isRefusal(given)) return given
  const read = readInput(Subscribe, given.value)
  return isRefusal(read) ? read : read.data
}
