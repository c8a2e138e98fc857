/**
 * The sessions of opencode in one directory, and what they are called at the server. One that was made at the
 * server carries its name there in its metadata, so that it is the same after a restart.
 */
import type { HostSession } from '../../client/host.ts'
import type { HostOpening } from '../../wire/host.ts'
import type { TielineClient } from '../../client/client.ts'
import { textAt, type Json } from '../../model/json.ts'
import { askedLast, cutBefore } from './conversation.ts'
import { answered, type OpencodeClient, type OpencodeSession } from './opencode-api.ts'
import type { ServerLink } from './server-link.ts'

const registeredAtStart = 50
const sentMax = 100

export type Taken = { sessionId: string; client: TielineClient }

export type KnownSessionsDeps = {
  opencode: OpencodeClient
  directory: string
  agent: string
  link: Pick<ServerLink, 'reach' | 'current'>
}

export class KnownSessions {
  readonly #deps: KnownSessionsDeps
  readonly #known = new Map<string, HostSession>()
  readonly #adding = new Map<string, Promise<Taken>>()
  /** Sessions that are being made for the server: opencode tells of them before they have their name. */
  #opening: Promise<unknown> = Promise.resolve()
  readonly #hidden = new Set<string>()
  /**
   * Messages that a session of opencode is just sending, and, by the session that one has made, what its
   * sender was at work on.
   */
  readonly #sending = new Map<string, Promise<void>>()
  readonly #sentDuring = new Map<string, string>()

  constructor(deps: KnownSessionsDeps) {
    this.#deps = deps
  }

  all(): HostSession[] {
    return [...this.#known.values()]
  }

  /**
   * Those of before, the newest: others are taken up when something arrives for them. Another opencode that
   * has one keeps it.
   */
  async begin(): Promise<void> {
    const sessions = await answered(this.#deps.opencode.session.list(), 'list its sessions')
    const here = sessions
      .filter((session) => session.directory === this.#deps.directory && session.time.archived === undefined)
      .toSorted((a, b) => b.time.updated - a.time.updated)
      .slice(0, registeredAtStart)
    // Parents first: a child is below one that is known.
    for (const session of here.toSorted((a, b) => a.time.created - b.time.created))
      if (!this.#known.has(session.id)) await this.#add(session, true)
  }

  /** Known to the server, as one that is at work here. */
  async taken(id: string): Promise<Taken> {
    const { host } = await this.#deps.link.reach()
    const known = host.taken(id)
    if (known !== null) return known
    await this.#opening
    return this.#add(
      await answered(this.#deps.opencode.session.get({ path: { id } }), `find session ${id}`),
      false,
    )
  }

  isAside(id: string): boolean {
    return this.#hidden.has(id)
  }

  nameOf(id: string): string | null {
    return this.#deps.link.current()?.host.taken(id)?.sessionId ?? null
  }

  /** Somebody works in it here: from now on its messages come here too. */
  claim(id: string): void {
    const session = this.#known.get(id)
    if (session?.spare !== true) return
    const mine = { ...session, spare: false }
    this.#known.set(id, mine)
    this.#tell(mine)
  }

  /**
   * A fork of a session up to a message of it, for one thing; nobody hears of it, and it is gone afterwards.
   */
  async aside<T>(id: string, before: string, work: (fork: OpencodeSession) => Promise<T>): Promise<T> {
    const { session } = this.#deps.opencode
    const made = this.#opening.then(async () => {
      const fork = await answered(
        session.fork({ path: { id }, body: { messageID: before } }),
        'fork a session',
      )
      this.#hidden.add(fork.id)
      return fork
    })
    this.#opening = made.catch(() => undefined)
    const fork = await made
    try {
      return await work(fork)
    } finally {
      await session.delete({ path: { id: fork.id } }).catch(() => undefined)
    }
  }

  async created(session: OpencodeSession): Promise<void> {
    await this.#opening
    if (this.#hidden.has(session.id)) return
    if (session.directory === this.#deps.directory && !this.#known.has(session.id))
      await this.#add(session, false)
  }

  /** opencode finds a title for a session after its first answer. */
  updated({ id, title }: OpencodeSession): void {
    const known = this.#known.get(id)
    if (known === undefined || known.title === title) return
    this.#known.set(id, { ...known, title })
    this.#tell({ ...known, title })
  }

  /** What the server says no to, the link reports. */
  #tell(session: HostSession): void {
    this.#deps.link
      .current()
      ?.host.add(session)
      .catch(() => undefined)
  }

  /** Its mail has no reader any more. */
  async deleted(id: string): Promise<void> {
    const link = this.#deps.link.current()
    const sessionId = link?.host.taken(id)?.sessionId
    this.#known.delete(id)
    this.#hidden.delete(id)
    link?.host.remove(id)
    if (sessionId !== undefined) await link?.client.sessions.archive(sessionId)
  }

  /**
   * A fork is asked for at once, and made a moment later: then the turn that asked for it may be over, and
   * would be counted.
   */
  sending(own: string, messageID: string, answer: Promise<{ value: Json }>): void {
    const noted = (async () => {
      const [{ value }, { data }] = await Promise.all([
        answer,
        this.#deps.opencode.session.message({ path: { id: own, messageID } }),
      ])
      const made = textAt(value, 'session')
      if (this.#sentDuring.size >= sentMax) this.#sentDuring.clear()
      if (made !== '' && data?.info.parentID !== undefined) this.#sentDuring.set(made, data.info.parentID)
    })().catch(() => undefined)
    this.#sending.set(own, noted)
    void noted.finally(() => this.#sending.get(own) === noted && this.#sending.delete(own))
  }

  /** Makes what was asked for at the server, or finds what was made for it before. */
  open(asked: HostOpening): Promise<HostSession> {
    const made = this.#opening.then(() => this.#make(asked))
    this.#opening = made.catch(() => undefined)
    return made
  }

  async #make(asked: HostOpening): Promise<HostSession> {
    const { session } = this.#deps.opencode
    const prefix = `ses_${this.#deps.agent}-`
    const own = asked.sessionId.startsWith(prefix)
      ? await session.get({ path: { id: asked.sessionId.slice(prefix.length) } })
      : { data: undefined }
    const before =
      own.data ??
      (await answered(session.list(), 'list its sessions')).find((one) => nameIn(one) === asked.sessionId)
    const made = before ?? (await this.#create(asked))
    if (before === undefined) {
      const metadata = { ...made.metadata, tieline: { session: asked.sessionId, own: made.id } }
      const named = session.update({ path: { id: made.id }, body: { metadata } })
      await answered(named, 'keep the name of a session')
    }
    const known: HostSession = {
      id: made.id,
      title: made.title,
      cwd: made.directory,
      ...(own.data === undefined ? { as: asked.sessionId } : {}),
    }
    this.#known.set(made.id, known)
    return known
  }

  async #create({ sessionId, title, fork }: HostOpening): Promise<OpencodeSession> {
    const { session } = this.#deps.opencode
    if (fork === null)
      return answered(session.create({ body: title === '' ? {} : { title } }), 'make a session')
    const { id, back } = fork
    await this.#sending.get(id)
    const [messages, status] = await Promise.all([
      answered(session.messages({ path: { id } }), 'show a conversation'),
      answered(session.status(), 'say what it does'),
    ])
    const isBusy = status[id] !== undefined && status[id].type !== 'idle'
    const running = this.#sentDuring.get(sessionId) ?? (isBusy ? askedLast(messages) : null)
    const cut = cutBefore(messages, back, running)
    const body = cut === null ? {} : { messageID: cut }
    return answered(session.fork({ path: { id }, body }), 'fork a session')
  }

  #add(session: OpencodeSession, spare: boolean): Promise<Taken> {
    const adding =
      this.#adding.get(session.id) ??
      this.#addNow(session, spare).finally(() => this.#adding.delete(session.id))
    this.#adding.set(session.id, adding)
    return adding
  }

  async #addNow(session: OpencodeSession, spare: boolean): Promise<Taken> {
    const { host } = await this.#deps.link.reach()
    const { id, title, directory: cwd, parentID = null } = session
    const parent = parentID !== null && host.taken(parentID) !== null ? parentID : null
    const known: HostSession = { id, title, cwd, parent, as: nameIn(session), spare }
    this.#known.set(id, known)
    await host.add(known).catch((error: unknown) => {
      this.#known.delete(session.id)
      throw error
    })
    const taken = host.taken(session.id)
    if (taken === null) throw new Error(`the server did not take session ${session.id}`)
    return taken
  }
}

/** opencode copies metadata with a fork: only what names the session itself is believed. */
function nameIn({ id, metadata }: OpencodeSession): string | null {
  const said = metadata?.['tieline'] as { session?: unknown; own?: unknown } | undefined
  return said?.own === id && typeof said.session === 'string' ? said.session : null
}
