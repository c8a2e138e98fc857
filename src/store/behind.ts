/**
 * The views behind the log: what a commit needs is the log alone, and the views follow in batches (R10). Until then
 * facts come from memory, and whoever reads a view has it brought up to date first: no fact is ever read from a
 * view that lags.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Millis, SessionId } from '../model/id.ts'
import { AppendFault } from '../runtime/kernel/store-port.ts'
import { applyAll, type Transaction } from './apply.ts'
import { Conversations } from './conversations.ts'
import { isCovered } from './covered.ts'
import type { Reading } from './facts.ts'
import { Live } from './live.ts'
import { Tail } from './tail.ts'
import type { Writer } from './writer.ts'

/** A class, because every work has one: a getter that an object defines for itself costs a microsecond. */
class FoldedFirst implements Reading {
  readonly #behind: Behind
  readonly now: Millis
  readonly held: Reading['held']
  readonly live: Live

  constructor(behind: Behind, now: Millis, held: Reading['held']) {
    this.#behind = behind
    this.now = now
    this.held = held
    this.live = behind.live
  }

  get sql(): Writer['facts'] {
    return this.#behind.readViews()
  }
}

export class Behind {
  readonly #writer: () => Writer
  readonly live = new Live()
  readonly conversations = new Conversations()
  readonly #tail = new Tail()
  /** The views could not follow: what is in the open transaction cannot be committed. */
  broken = false

  constructor(writer: () => Writer) {
    this.#writer = writer
  }

  /** Whether something is committed that the views do not have. */
  isBehind = (): boolean => this.#tail.isBehind()
  isEmpty = (): boolean => this.#tail.isEmpty()
  /** Whether the views may lack something of a conversation. What others say does not change it. */
  lacksEntries = (session: string): boolean => this.#tail.hasMade(session)

  /** Facts that are not in memory are read from the views, once they have everything that was decided. */
  read = (now: Millis, held: Reading['held']): Reading => new FoldedFirst(this, now, held)

  /** In an open transaction: the views, once they have everything that was decided. */
  readViews(): Writer['facts'] {
    this.fold()
    return this.#writer().facts
  }

  /** What was just appended. Where the memory has all that it changes the views follow later, otherwise at once. */
  append(row: Transaction, units: number): void {
    const writer = this.#writer()
    if (isCovered(row.events, this.live, (id) => this.#isNew(id))) this.#tail.add(row, units, writer)
    else {
      this.#tail.fold(writer)
      applyAll(writer.writes, row, row.events, row.sessions)
    }
    this.live.apply(row)
    this.conversations.apply(row, (id) => this.live.row(id as SessionId)?.kind === 'persistent')
  }

  /** Before a commit: the views are never further behind than a few milliseconds of work. */
  foldLong(): void {
    if (this.broken) throw new AppendFault('the views could not follow the log')
    if (this.#tail.isLong()) this.fold()
  }

  /** In an open transaction. */
  fold(): void {
    if (this.#tail.isEmpty()) return
    try {
      this.#tail.fold(this.#writer())
    } catch (cause) {
      this.broken = true
      throw new AppendFault(`the views could not follow the log (${(cause as Error).message})`, { cause })
    }
  }

  beat(node: string, until: Millis): void {
    this.#writer().heartbeat.run(node, until)
    this.live.lease(node, until)
  }

  commit(): void {
    this.#tail.commit()
  }

  /** What was decided since the last commit is undone: the log and the views say what is true. */
  undo(): void {
    this.broken = false
    this.live.clear()
    this.conversations.clear()
    this.#tail.undo()
  }

  /** After a fault the log says how far it came. */
  reload(db: DatabaseSync): void {
    this.conversations.clear()
    this.#tail.reload(db)
  }

  #isNew(id: string): boolean {
    if (this.#tail.hasMade(id)) return false
    const { hasSession, hasTurn } = this.#writer()
    return (id.startsWith('ses_') ? hasSession : hasTurn).get(id) === undefined
  }
}
