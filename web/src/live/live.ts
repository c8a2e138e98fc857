import { readPages } from '../../../src/client/read-pages.ts'
import type { StreamedEvent } from '../../../src/wire/log.ts'
import { tielineClient, type TielineClient } from '../../../src/client/client.ts'
import { TielineError } from '../../../src/client/tieline-error.ts'
import { foldEvent } from './fold-event.ts'
import { takeMail } from './fold-mail.ts'
import { nameAgent, createLedger, takeSession, type Ledger } from './ledger.ts'
import { pruneLedger } from './prune-ledger.ts'
import { readLog } from './read-log.ts'
import { createStreams, type Streams } from './said.ts'
import { createTopics, type Topics } from './topics.ts'
import { extractText, createDetails, type Details } from './turn-details.ts'

export type Connection =
  | { state: 'connecting' | 'open' | 'lost' }
  | { state: 'refused'; why: string; needsToken: boolean }

export type Live = {
  readonly client: TielineClient
  readonly ledger: Ledger
  readonly details: Details
  readonly said: Streams
  readonly topics: Topics
  connection(): Connection
  /** Why the connection was lost, as the server or the browser says. */
  lostWhy(): string
  /** `lists`: sessions and questions are read; `log`: the newest part of the log is read too. */
  loaded(): { lists: boolean; log: boolean; problem: string | null }
  /** Events before this number were not read; 0 if all were. */
  readFrom(): number
  lastSeq(): number
  onEvent(listener: (streamed: StreamedEvent) => void): () => void
  /** Reads a session again from the server, for what no event says. */
  refreshSession(id: string): Promise<void>
  /** Reads again what programs that a person has open do now. */
  refreshPresence(signal: AbortSignal): Promise<void>
  loadArchived(): Promise<void>
  stop(): void
}

/** How many events are read at the start, which takes about a second. */
export const eventsReadMax = 10_000
const pagesMax = 10
const pageSize = 200

export const openLive = (url: string, token: string | null): Live =>
  new PageStore(tielineClient({ url, token }))

class PageStore implements Live {
  readonly client: TielineClient
  readonly ledger = createLedger()
  readonly details = createDetails()
  readonly said = createStreams()
  readonly topics = createTopics()
  readonly #stopped = new AbortController()
  readonly #listeners = new Set<(streamed: StreamedEvent) => void>()
  #connection: Connection = { state: 'connecting' }
  #loaded: ReturnType<Live['loaded']> = { lists: false, log: false, problem: null }
  #why = ''
  #lastSeq = 0
  #readFrom = 0
  #began = false
  /** Events that came while older ones were still read (L2). */
  #waiting: StreamedEvent[] | null = []

  constructor(client: TielineClient) {
    this.client = client
    this.#follow().catch((error: unknown) => {
      if (this.#stopped.signal.aborted) return
      this.#connect({
        state: 'refused',
        why: error instanceof Error ? error.message : String(error),
        needsToken: error instanceof TielineError && error.status === 401,
      })
    })
  }

  connection = (): Connection => this.#connection
  lostWhy = (): string => this.#why
  loaded = (): ReturnType<Live['loaded']> => this.#loaded
  readFrom = (): number => this.#readFrom
  lastSeq = (): number => this.#lastSeq
  stop = (): void => this.#stopped.abort()

  onEvent(listener: (streamed: StreamedEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async refreshSession(id: string): Promise<void> {
    takeSession(this.ledger, await this.client.sessions.get(id))
    this.topics.touch(`session:${id}`)
    this.topics.touch('sessions')
  }

  async refreshPresence(signal: AbortSignal): Promise<void> {
    const { sessions } = await this.client.sessions.list({ limit: pageSize }, { signal })
    for (const listed of sessions) {
      const known = this.ledger.sessions.get(listed.id)
      const { presence, wakeable, quietUntil } = listed
      if (known === undefined || (known.presence === presence && known.wakeable === wakeable)) continue
      Object.assign(known, { presence, wakeable, quietUntil })
      this.topics.touch(`session:${listed.id}`)
    }
  }

  async loadArchived(): Promise<void> {
    await readSessions(this.client, this.ledger, true)
    this.topics.touch('sessions')
  }

  async #follow(): Promise<void> {
    const stream = this.client.events({
      signal: this.#stopped.signal,
      onDelta: (delta) => {
        this.said.take(delta)
        this.topics.touch(`said:${delta.turn}`)
        if (delta.remark !== undefined) this.topics.touch('remarks')
      },
      onConnection: (state) => {
        if (state.open) return this.#opened(Number(state.after ?? 0))
        this.#why = state.why
        this.#connect({ state: this.#began ? 'lost' : 'connecting' })
      },
    })
    for await (const streamed of stream) {
      if (this.#waiting === null) this.#take(streamed, true)
      else this.#waiting.push(streamed)
    }
  }

  #connect(next: Connection): void {
    this.#connection = next
    this.topics.touch('connection')
  }

  #opened(after: number): void {
    // What the server did not give when the page was opened is read when it is back.
    if (this.#loaded.problem !== null) return location.reload()
    if (this.#began && after < this.#lastSeq) return location.reload() // L3
    if (!this.#began) {
      this.#began = true
      this.#lastSeq = after
      void this.#load(after) // L1
    }
    this.#connect({ state: 'open' })
  }

  async #load(after: number): Promise<void> {
    try {
      for (const { id, name } of await this.client.agents()) this.ledger.agentNames.set(id, name)
      await readSessions(this.client, this.ledger, false)
      await readQuestions(this.client, this.ledger)
      // Only the user may know.
      this.ledger.quietUntil = (await this.client.quiet.get().catch(() => null))?.all ?? 0
      const drafts = await readPages((before) =>
        this.client.mail.drafts(null, before === null ? {} : { before }),
      )
      for (const draft of drafts) takeMail(this.ledger, draft, after)
      this.#loaded = { ...this.#loaded, lists: true }
      this.topics.touchAll()
      this.#readFrom = Math.max(0, after - eventsReadMax)
      await readLog(
        this.client,
        { after: this.#readFrom, until: after },
        (streamed) => this.#take(streamed, false),
        this.#stopped.signal,
      ) // L2
      this.#loaded = { ...this.#loaded, log: true }
    } catch (error) {
      if (!this.#stopped.signal.aborted)
        this.#loaded = { ...this.#loaded, problem: error instanceof Error ? error.message : String(error) }
    }
    const waiting = this.#waiting ?? []
    this.#waiting = null
    for (const streamed of waiting) this.#take(streamed, true)
    this.topics.touchAll()
  }

  #take(streamed: StreamedEvent, isNew: boolean): void {
    // While the past is read nothing is redrawn; afterwards everything is.
    foldEvent(this.ledger, streamed, isNew, isNew ? (topic) => this.topics.touch(topic) : () => undefined)
    this.details.take(streamed)
    if (!isNew) return
    // Older events were recorded before the page listened, so none of their text is streaming.
    settle(this.said, streamed)
    this.#lastSeq = Number(streamed.seq)
    if (this.#lastSeq % pruneEvery === 0) pruneLedger(this.ledger)
    for (const listener of this.#listeners) listener(streamed)
  }
}

const pruneEvery = 1000

/** Text that is recorded no longer streams. */
function settle(said: Streams, { event }: StreamedEvent): void {
  if (event.turn === null) return
  if (event.type === 'turn.ended') said.drop(event.turn)
  if (event.type === 'step.ended' && event.kind === 'model')
    said.settle(event.turn, extractText(event.output))
}

async function readSessions(client: TielineClient, ledger: Ledger, archived: boolean): Promise<void> {
  let cursor: string | null = null
  for (let page = 0; page < pagesMax; page += 1) {
    const { sessions, next } = await client.sessions.list({
      limit: pageSize,
      ...(archived ? { archived } : {}),
      ...(cursor === null ? {} : { cursor }),
    })
    for (const session of sessions) takeSession(ledger, session)
    cursor = next
    if (cursor === null) return
  }
}

async function readQuestions(client: TielineClient, ledger: Ledger): Promise<void> {
  for (const question of await client.questions.list())
    if (!ledger.answered.has(question.id))
      ledger.questions.set(question.id, {
        ...question,
        agent: nameAgent(ledger, question.agent),
        path: question.path.map((name) => nameAgent(ledger, name)),
      })
}
