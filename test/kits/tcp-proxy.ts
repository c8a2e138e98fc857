/** A network between a node and its database that can be cut, frozen, and made to lose one answer. */
import { connect, createServer, type Socket } from 'node:net'

export type Proxy = {
  port: number
  /** Ends all connections; new ones are taken. */
  cut(): void
  /** Nothing passes in either direction until it is thawed; the connections stay open. */
  freeze(): void
  thaw(): void
  /** What passes from now on takes so long in each direction. */
  delay(ms: number): void
  /**
   * The connections of now stay open, and nothing that either side says arrives any more, not even its end, as
   * behind a machine that was unplugged. New ones are not touched.
   */
  unplug(): void
  /** New connections go there. */
  retarget(port: number): void
  /** The next flight with this text reaches the other side, and its answer is lost with the connection. */
  loseAnswerTo(text: string): void
  /** The next flight with this text never arrives: the connection ends first. */
  loseFlight(text: string): void
  /** Connections that were ended so far by `loseAnswerTo` and `loseFlight`. */
  lost(): number
  close(): Promise<void>
}

export async function tcpProxy(target: number): Promise<Proxy> {
  const pairs = new Set<[Socket, Socket]>()
  let frozen = false
  let trap: { text: string; arrives: boolean } | null = null
  let lost = 0
  let [goal, delayMs] = [target, 0]
  const unplugged = new WeakSet<Socket>()
  /** One after the other, also where the delay changes in between. */
  const last = new WeakMap<Socket, Promise<void>>()
  const pass = (to: Socket, chunk: Buffer): void => {
    if (unplugged.has(to)) return
    const before = last.get(to)
    if (delayMs === 0 && before === undefined) return void to.write(chunk)
    const waits = new Promise((resolve) => setTimeout(resolve, delayMs))
    const turn = Promise.all([before, waits]).then(() => {
      if (!to.destroyed) to.write(chunk)
      if (last.get(to) === turn) last.delete(to)
    })
    last.set(to, turn)
  }
  const server = createServer((near) => {
    const far = connect(goal, '127.0.0.1')
    const pair: [Socket, Socket] = [near, far]
    pairs.add(pair)
    let deaf = false
    const end = (): void => {
      if (unplugged.has(near)) return
      pairs.delete(pair)
      near.destroy()
      far.destroy()
    }
    for (const socket of pair) {
      socket.on('error', end)
      socket.on('close', end)
      if (frozen) socket.pause()
    }
    near.on('data', (chunk) => {
      if (trap !== null && chunk.includes(trap.text)) {
        const { arrives } = trap
        trap = null
        lost += 1
        if (!arrives) return end()
        deaf = true
      }
      pass(far, chunk)
    })
    far.on('data', (chunk) => {
      // The answer says that it was done; nobody hears it.
      if (deaf) return end()
      pass(near, chunk)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const each = (act: (socket: Socket) => void): void => {
    for (const pair of Array.from(pairs)) pair.forEach(act)
  }
  return {
    port: (server.address() as { port: number }).port,
    cut: () => each((socket) => socket.destroy()),
    freeze() {
      frozen = true
      each((socket) => socket.pause())
    },
    thaw() {
      frozen = false
      each((socket) => socket.resume())
    },
    delay: (ms) => void (delayMs = ms),
    unplug: () => each((socket) => unplugged.add(socket)),
    retarget: (port) => void (goal = port),
    loseAnswerTo: (text) => void (trap = { text, arrives: true }),
    loseFlight: (text) => void (trap = { text, arrives: false }),
    lost: () => lost,
    async close() {
      for (const pair of pairs) pair.forEach((socket) => unplugged.delete(socket))
      each((socket) => socket.destroy())
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
