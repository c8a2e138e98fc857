/**
 * The connection beside the transactions: it hears what other nodes have committed, says what this one has, and
 * beats. It holds no key, so it waits for nobody. What it says may be lost: then it is found by looking.
 */
import type { Millis } from '../../model/id.ts'
import { connect, quote, type Link } from './link.ts'
import type { Places } from './schema.ts'

export type Words = { from: string; to: string | null; text: string }

type SideOptions = {
  url: string
  places: Places
  /** Who speaks, so that nobody hears themselves. */
  self: string
  sleep: (ms: number) => Promise<void>
  /** Called for news from other nodes, and after a time in which some may have been missed. */
  onNews: () => void
  onWords: (text: string) => void
}

const retryMsMin = 50
/** Whoever has lost the database looks for it so often, however long it is away. */
const retryMsMax = 250
/** PostgreSQL takes less than 8000 bytes. */
const wordsBytesMax = 7900
/** What is not said in time is not said at all. */
const saidMax = 1000

export class SideLink {
  readonly #options: SideOptions
  #link: Promise<Link> | null = null
  #closed = false
  #isComingBack = false
  #telling = false
  #news = false
  #said: string[] = []

  constructor(options: SideOptions) {
    this.#options = options
  }

  /** The present connection, or a new one. */
  link(): Promise<Link> {
    this.#link ??= this.#open().catch((fault: unknown) => {
      this.#link = null
      throw fault
    })
    return this.#link
  }

  async #open(): Promise<Link> {
    const { url, places, sleep, onNews } = this.#options
    const onNotice = (payload: string): void => this.#hear(payload)
    const link = await connect({ url, sleep, onNotice, onEnd: () => this.#lost() })
    await link.run(`listen ${places.channel}`)
    onNews()
    return link
  }

  #hear(payload: string): void {
    const [from = '', kind, ...rest] = payload.split(' ')
    if (from === this.#options.self) return
    if (kind === 'news') this.#options.onNews()
    else this.#options.onWords(rest.join(' '))
  }

  #lost(): void {
    this.#link = null
    if (!this.#closed) void this.#comeBack()
  }

  async #comeBack(): Promise<void> {
    if (this.#isComingBack) return
    this.#isComingBack = true
    for (let pause: Millis = retryMsMin; !this.#closed; pause = Math.min(pause * 2, retryMsMax)) {
      await this.#options.sleep(pause)
      if (this.#closed) break
      try {
        await this.link()
        break
      } catch {
        // It is tried again, a little later.
      }
    }
    this.#isComingBack = false
  }

  /** There is something new in the log. Said once for all commits since it was said last. */
  tell(): void {
    this.#news = true
    void this.#speak()
  }

  /** Something for those who listen now; it is not kept. */
  say(text: string): void {
    if (Buffer.byteLength(text) > wordsBytesMax || this.#said.length >= saidMax) return
    this.#said.push(text)
    void this.#speak()
  }

  async #speak(): Promise<void> {
    if (this.#telling || this.#closed) return
    this.#telling = true
    const { self, places } = this.#options
    try {
      while (this.#news || this.#said.length > 0) {
        const payloads = this.#said.splice(0).map((text) => `${self} words ${text}`)
        if (this.#news) payloads.push(`${self} news`)
        this.#news = false
        const link = await this.link()
        await link.run(payloads.map((text) => `notify ${places.channel}, ${quote(text)}`).join(';'))
      }
    } catch {
      // Hints may be lost: every node looks once a second.
    } finally {
      this.#telling = false
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    const link = await this.#link?.catch(() => null)
    link?.close()
  }
}
