/**
 * One connection to PostgreSQL. It is thrown away after any fault: a client that reconnects by itself would run
 * the rest of a transaction outside of it.
 */
import pg from 'pg'
import { contained } from '../../model/contained.ts'
import { readTls } from './tls.ts'
import { tryBeside } from './try-beside.ts'
import { watchFlights, type Doing } from './watch-flights.ts'

/** The connection is gone, or cannot be made. Whether what it was asked last was done, nobody knows. */
export class LinkFault extends Error {
  /** False where trying again would be the same: a wrong password, a database that does not exist. */
  get passes(): boolean {
    const code = (this.cause as { code?: unknown } | undefined)?.code
    return typeof code !== 'string' || !/^(?:28|3D|42|0A|ENOTFOUND|ERR_)/.test(code)
  }
}

export type Row = Record<string, string | null>
export type Answer = { command: string; rows: Row[] }

export type Link = {
  /** Several statements in one flight. Rejects with a LinkFault, or with what PostgreSQL said. */
  run(sql: string): Promise<Answer[]>
  readonly isOpen: () => boolean
  close(): void
}

export type LinkOptions = {
  /** `postgres://…`; what it leaves out comes from the variables `PG…`, as everywhere. */
  url: string
  /** How long one flight may take. */
  flightMsMax?: number
  /** With it, nothing waits long for an other end that is no longer there. */
  sleep?: (ms: number) => Promise<void>
  onNotice?: (payload: string) => void
  /** Of a connection that was made. */
  onEnd?: () => void
}

const connectMsMax = 3000
const flightMs = 5000
const witnessMsMax = 1000

/**
 * A process that is frozen in a transaction would keep its keys from all others: PostgreSQL ends it. Who waits
 * for a key gives up before its own flight does, so that it knows why.
 */
const settings = (flightMsMax: number): string =>
  `set idle_in_transaction_session_timeout = 1000; set lock_timeout = ${Math.floor(flightMsMax * 0.8)};
   set statement_timeout = ${flightMsMax}; set synchronous_commit = on; set client_encoding = 'UTF8';
   set default_transaction_isolation = 'read committed'; set standard_conforming_strings = on;
   select pid, backend_start from pg_stat_activity where pid = pg_backend_pid()`

/** Everything comes as text, so that no number loses digits on its way. */
const asText = { getTypeParser: () => (value: unknown) => value } as unknown as pg.CustomTypesConfig

export function connect(options: LinkOptions): Promise<Link> {
  const { sleep, onEnd } = options
  if (sleep === undefined) return connectOnce(options)
  const open = async (): Promise<{ link: Link; discard(): void }> => {
    let tell = onEnd
    const link = await connectOnce({ ...options, onEnd: () => tell?.() })
    // Nobody ever had it, so nobody has lost it.
    const discard = (): void => {
      tell = undefined
      link.close()
    }
    return { link, discard }
  }
  return tryBeside(open, {
    sleep,
    discard: (late) => late.discard(),
    passes: (fault) => fault instanceof LinkFault && fault.passes,
  }).then(({ link }) => link)
}

function createClient(url: string, flightMsMax: number): pg.Client {
  const { url: address, ssl } = readTls(url, process.env)
  return new pg.Client({
    ...(address === '' ? {} : { connectionString: address }),
    ssl,
    application_name: 'tieline',
    connectionTimeoutMillis: connectMsMax,
    query_timeout: flightMsMax + 1000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 1000,
    types: asText,
  })
}

async function connectOnce({ url, flightMsMax = flightMs, sleep, ...on }: LinkOptions): Promise<Link> {
  const client = createClient(url, flightMsMax)
  const { stream } = (client as unknown as { connection: { stream: Stream } }).connection
  let isOpen = true
  let wasMade = false
  /** Of the flight that is under way: a promise that all flights waited for would keep all their answers. */
  let abandon: ((fault: LinkFault) => void) | null = null
  const end = (): void => {
    if (!isOpen) return
    isOpen = false
    abandon?.(new LinkFault('the connection has ended'))
    client.end().catch(() => undefined) // It is gone anyway.
    // Where the other end says nothing any more, a polite end would wait for it.
    stream.destroy()
    if (wasMade) on.onEnd?.()
  }
  client.on('error', end)
  client.on('end', end)
  const hear = ({ payload }: pg.Notification): void => on.onNotice?.(payload ?? '')
  client.on('notification', contained(end, hear))
  let beginFlight = (): (() => void) => () => undefined
  /** One flight after the other. */
  let last: Promise<unknown> = Promise.resolve()
  const run = (sql: string): Promise<Answer[]> => {
    const flight = last.then(() => fly(sql))
    last = flight.catch(() => undefined)
    return flight
  }
  const fly = async (sql: string): Promise<Answer[]> => {
    if (!isOpen) throw new LinkFault('the connection has ended')
    const gone = Promise.withResolvers<never>()
    abandon = gone.reject
    const endFlight = beginFlight()
    try {
      const asked = client.query(sql) as unknown as Promise<Answer | Answer[]>
      asked.catch(() => undefined) // Where the connection ends first, nobody asks any more.
      const answers = await Promise.race([asked, gone.promise])
      return Array.isArray(answers) ? answers : [answers]
    } catch (cause) {
      end()
      throw readFault(cause)
    } finally {
      abandon = null
      endFlight()
    }
  }
  try {
    await client.connect()
    const own = (await run(settings(flightMsMax))).at(-1)?.rows[0]
    if (sleep !== undefined && own !== undefined) {
      const arrived = (): number => stream.bytesRead
      const witness = findWitness(url, own)
      beginFlight = watchFlights({ sleep, isOpen: () => isOpen, arrived, ...witness, giveUp: end }).begin
    }
  } catch (cause) {
    end()
    throw cause instanceof LinkFault ? cause : new LinkFault((cause as Error).message, { cause })
  }
  wasMade = true
  return { run, isOpen: () => isOpen, close: end }
}

type Stream = { destroy(): void; readonly bytesRead: number }

/** PostgreSQL's own words carry a code of five; the classes 08, 53, 57 and 58 are about the server itself. */
function readFault(cause: unknown): unknown {
  const code = (cause as { code?: unknown }).code
  const isAnswer = typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)
  if (isAnswer && !/^(?:08|53|57|58|25P0[34]|XX)/.test(code)) return cause
  return cause instanceof LinkFault ? cause : new LinkFault((cause as Error).message, { cause })
}

/** Another connection, which is made when it is needed, and sees what PostgreSQL does for the one of `own`. */
function findWitness(url: string, own: Row): { ask: () => Promise<Doing>; rest: () => void } {
  let witness: Link | null = null
  const rest = (): void => {
    witness?.close()
    witness = null
  }
  return {
    async ask() {
      if (witness?.isOpen() !== true) witness = await connectOnce({ url, flightMsMax: witnessMsMax })
      const [answer] = await witness.run(
        `select state from pg_stat_activity
           where pid = ${own['pid']} and backend_start = ${quote(own['backend_start'] ?? '')}`,
      )
      const [row] = answer?.rows ?? []
      if (row === undefined) return 'gone'
      return row['state']?.startsWith('idle') === true ? 'nothing' : 'something'
    },
    rest,
  }
}

/** A text between marks that it does not have in it: whatever it says, nothing of it is read as SQL. */
export function quote(text: string): string {
  let mark = '$t$'
  // Its end and the mark together must not be one that comes earlier.
  for (let n = 1; `${text}${mark}`.indexOf(mark) < text.length; n += 1) mark = `$t${n}$`
  return `${mark}${text}${mark}`
}

/** Where it is, without the password. */
export function describePlace(url: string): string {
  const { url: address } = readTls(url, process.env)
  const { host, port, database } = new pg.Client(address === '' ? {} : { connectionString: address })
  return `postgres://${host}:${port}/${database ?? ''}`
}
