/** Many WebSocket clients in one process, apart from the server and the load. The parent sends orders. */
import WebSocket from 'ws'

export type ListenersOrder =
  | { what: 'open'; url: string; session: string; count: number; after: number }
  /** Drops this many connections; each resumes where it stopped. */
  | { what: 'break'; count: number }
  /** Waits until every client has the last of these, and compares. */
  | { what: 'compare'; seqs: number[]; patienceMs: number }
  | { what: 'close' }

/** Sums over all clients. `disordered` counts numbers that did not grow, duplicates included. */
export type Compared = {
  clients: number
  expected: number
  missing: number
  disordered: number
  foreign: number
  reconnects: number
  dropped: number
}

class Client {
  seqs: number[] = []
  disordered = 0
  reconnects = 0
  /** Connections that the server ended. */
  dropped = 0
  readonly #url: string
  readonly #session: string
  readonly #from: number
  #ws: WebSocket | null = null
  #leaving = false

  constructor(url: string, session: string, from: number) {
    this.#url = url
    this.#session = session
    this.#from = from
  }

  /** Resolves when it is subscribed. */
  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      const ws = new WebSocket(
        `${this.#url.replace('http', 'ws')}/ws?session=${this.#session}&after=${this.seqs.at(-1) ?? this.#from}`,
        { perMessageDeflate: false },
      )
      this.#ws = ws
      ws.on('message', (data: Buffer) => {
        // The next connection reads again what the dropped one still held.
        if (this.#ws !== ws) return
        const frame = JSON.parse(data.toString()) as { type: string; seq?: string }
        if (frame.type === 'subscribed') resolve()
        if (frame.type === 'event') this.#take(Number(frame.seq))
      })
      ws.on('error', reject)
      ws.on('close', () => {
        if (this.#ws !== ws || this.#leaving) return
        this.dropped += 1
        this.open().catch(() => undefined)
      })
    })
  }

  #take(seq: number): void {
    if (seq <= (this.seqs.at(-1) ?? this.#from)) this.disordered += 1
    else this.seqs.push(seq)
  }

  break(): Promise<void> {
    const old = this.#ws
    this.#ws = null
    old?.terminate()
    this.reconnects += 1
    return this.open()
  }

  close(): void {
    this.#leaving = true
    this.#ws?.terminate()
  }
}

let clients: Client[] = []
let broken = 0

async function answer(order: ListenersOrder): Promise<Compared | null> {
  switch (order.what) {
    case 'open':
      clients = Array.from({ length: order.count }, () => new Client(order.url, order.session, order.after))
      // In groups, since the queue of a listening socket is finite.
      for (let first = 0; first < clients.length; first += 50)
        await Promise.all(clients.slice(first, first + 50).map((client) => client.open()))
      return null
    case 'break': {
      const chosen = Array.from(
        { length: order.count },
        () => clients[(broken += 1) % clients.length],
      ).filter((client) => client !== undefined)
      await Promise.all(chosen.map((client) => client.break()))
      return null
    }
    case 'compare':
      return compare(order.seqs, order.patienceMs)
    case 'close':
      for (const client of clients) client.close()
      clients = []
      return null
  }
}

async function compare(seqs: readonly number[], patienceMs: number): Promise<Compared> {
  const last = seqs.at(-1) ?? 0
  const until = performance.now() + patienceMs
  while (
    performance.now() < until &&
    clients.some((client) => (client.seqs.at(-1) ?? 0) < last && seqs.length > 0)
  )
    await new Promise((resolve) => setTimeout(resolve, 10))
  const wanted = new Set(seqs)
  const sum = (pick: (client: Client) => number): number =>
    clients.reduce((total, client) => total + pick(client), 0)
  const foreign = sum((client) => client.seqs.filter((seq) => !wanted.has(seq)).length)
  return {
    clients: clients.length,
    expected: seqs.length * clients.length,
    missing: sum((client) => seqs.length - client.seqs.filter((seq) => wanted.has(seq)).length),
    foreign,
    disordered: sum((client) => client.disordered),
    reconnects: sum((client) => client.reconnects),
    dropped: sum((client) => client.dropped),
  }
}

process.on('message', (order: ListenersOrder) => {
  answer(order).then(
    (value) => process.send?.(value),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  )
})
process.on('disconnect', () => process.exit(0))
process.send?.('ready')
