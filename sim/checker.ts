/**
 * Reads the log as it grows and checks every transaction against the laws. It keeps the first violation.
 */
import { hash } from 'node:crypto'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Event } from '../src/model/event.ts'
import { toTurnId, type CallId, type TurnId } from '../src/model/id.ts'
import type { Limits } from '../src/model/limits.ts'
import { viewsEqual } from '../src/store/rebuild.ts'
import type { SqliteStore } from '../src/store/sqlite.ts'
import { compareViews, readViews } from './compare-views.ts'
import { countEvent } from './happenings.ts'
import { checkAfter, checkBefore, checkOverdue } from './laws.ts'
import { Ledger, type Broken, type Written } from './ledger.ts'
import { Oracle } from './oracle/oracle.ts'
import { measureJumps, shiftTimes } from './elapsed.ts'
import type { Mark } from './shared.ts'
import type { Plan } from './plan.ts'
import { OwnFold } from './own-fold.ts'
import type { Scheduler } from './scheduler.ts'

type Row = { seq: number; at: number; events: string }
/**
 * For a call, two sweeps of any node and the way to the store; for a turn also a lease and the grace of its
 * driver.
 */
const slack = { callMs: 3000, turnMs: 9000 }

export class Checker {
  readonly ledger: Ledger
  readonly oracle: Oracle
  /** Who committed what, in the order of the log. */
  readonly marks: Mark[] = []
  failure: string | null = null
  digest = ''
  readonly trace: { at: number; writer: string | null; event: Event }[] = []
  keepTrace = false
  /** What happened, for the summary. */
  readonly counts = new Map<string, number>()
  readonly #store: SqliteStore
  readonly #limits: Limits
  readonly #time: Scheduler
  #db: DatabaseSync | null = null
  #rows: StatementSync | null = null
  readonly #fold = new OwnFold()
  #views: ReturnType<typeof readViews> = []
  #seq = 0

  constructor(store: SqliteStore, limits: Limits, time: Scheduler, plan: Plan) {
    this.#store = store
    this.#limits = limits
    this.#time = time
    this.ledger = new Ledger(measureJumps(plan))
    this.oracle = new Oracle(this.ledger, limits, plan)
  }

  /** The store has another connection after a fault of its disk. */
  #connect(): void {
    const { logDb: db } = this.#store
    if (db === this.#db) return
    this.#db = db
    this.#rows = db.prepare('select seq, at, events from log where seq > ? and seq <= ? order by seq')
    this.#views = readViews(db)
  }

  fail = (why: string): void => void (this.failure ??= why)

  /** What was written before the nodes started has no writer. */
  skip(): void {
    this.#read(() => null)
  }

  check = (): void => {
    if (this.#store.lastSeq() === this.#seq) return
    this.#read(() => {
      for (let mark = this.marks.shift(); mark !== undefined; mark = this.marks.shift()) {
        if (mark.stale) continue
        mark.seen = true
        return mark
      }
      this.fail('R1: the log has a transaction that no node committed')
      return null
    })
  }

  #read(next: () => Mark | null): void {
    this.#connect()
    // What a machine that died had written behind that is gone with it.
    for (const row of (this.#rows?.all(this.#seq, this.#store.lastSeq()) ?? []) as Row[]) {
      this.#seq = row.seq
      this.digest = hash('sha256', `${this.digest}\n${row.seq} ${row.at} ${row.events}`)
      const events = JSON.parse(row.events) as Event[]
      this.#fold.take({ seq: row.seq, at: row.at, events })
      const { skewMs } = this.#time
      const written: Written = {
        at: row.at - skewMs,
        wall: row.at,
        writer: next()?.node ?? null,
        events: skewMs === 0 ? events : events.map((event) => shiftTimes(event, skewMs)),
      }
      if (this.keepTrace)
        for (const event of written.events) this.trace.push({ at: row.at, writer: written.writer, event })
      for (const event of written.events) countEvent(this.counts, event)
      if (this.failure === null) this.#checkLaws(written)
    }
  }

  #checkLaws(written: Written): void {
    try {
      // The oracle speaks last: a law says more of why something is wrong.
      let judged: Broken = null
      for (const event of written.events) {
        const broken = checkBefore(this.ledger, event, written, this.#limits)
        if (broken !== null) return this.fail(broken)
        judged ??= this.oracle.checkBefore(event, written.at)
        this.ledger.apply(event, written.at)
      }
      this.note(checkAfter(this.ledger, written) ?? judged ?? this.oracle.checkAfter())
    } catch (error) {
      this.fail(error instanceof Error ? error.message : String(error))
    }
  }

  /** After each event of the world. */
  tick(wellSince: number): void {
    this.check()
    const broken = checkOverdue(this.ledger, this.#time.now, wellSince, slack)
    if (broken !== null) this.fail(broken)
  }

  /** R2: a root that was accepted is in the log. */
  checkAccepted(turn: TurnId): void {
    this.check()
    if (!this.ledger.turns.has(turn)) this.fail(`R2: ${turn} was accepted, and the log does not have it`)
  }

  /** What somebody asked or was told, once the log was read as far as it goes. */
  consult<T>(look: (oracle: Oracle) => T): T {
    this.check()
    return look(this.oracle)
  }

  note(broken: Broken): void {
    if (broken !== null) this.fail(broken)
  }

  /** R2, R3: a caller gets the outcome that the log has, and the text (O2). */
  checkAnswered(call: string, outcome: string, text: string | null): void {
    this.check()
    const turn = this.ledger.turns.get(toTurnId(call as CallId))
    const known =
      turn === undefined ? (this.ledger.refused.has(call as CallId) ? 'refused' : null) : turn.outcome
    if (known !== outcome)
      this.fail(`R3: a caller got ${call} as ${outcome}; the log says ${known ?? 'nothing'}`)
    if (outcome !== 'refused') this.note(this.oracle.checkTold(call as CallId, outcome, text))
  }

  /** O2: who sent a root reads what the log has. */
  checkEnded(turn: TurnId, outcome: string, output: string): void {
    this.note(this.consult((oracle) => oracle.checkTold(turn, outcome, output)))
  }

  /** R2: a message that was taken is in the log. */
  checkMailed(message: string): void {
    this.check()
    if (this.ledger.mail.get(message) === undefined)
      this.fail(`R2: ${message} was acknowledged, and the log does not have it`)
  }

  /** M2: a message goes to one receiver only. */
  checkGiven(act: string, message: string): void {
    this.check()
    const broken = this.ledger.mail.checkGiven(act, message)
    if (broken !== null) this.fail(broken)
  }

  /** R10: the views are what the simulator derives from the log, with a fold of its own. */
  compareViews(): void {
    this.check()
    // The views follow when somebody looks; a disk that fails may show only then.
    const { isOpen } = this.#store.db
    // Until it writes again nobody knows what the log has.
    if (this.#store.health().state !== 'ok') return
    this.#connect()
    const difference = !isOpen ? null : compareViews(this.#views, this.#fold)
    if (difference !== null) this.fail(`R10: ${difference}`)
  }

  get isQuiet(): boolean {
    for (const live of this.ledger.live.values()) if (live.size > 0) return false
    return this.ledger.pending.size === 0
  }

  /**
   * What is left when nothing more can happen: nothing pending, running, waiting or held, and views that are
   * the fold of the log. With `again` the store folds it once more.
   */
  checkAtRest(again: boolean): void {
    if (this.failure !== null) return
    for (const turn of this.ledger.turns.values()) {
      if (turn.pending) return this.fail(`R4: ${turn.call?.id ?? ''} is pending when everything rests`)
      if (turn.state === 'queued')
        return this.fail(`R9: ${turn.id} waits in ${turn.session} when everything rests`)
      if (turn.state === 'running')
        return this.fail(
          `R6: ${turn.id} runs on ${turn.node ?? 'nothing'} when everything rests` +
            (turn.stopping ? ' (it was told to stop)' : ''),
        )
    }
    this.compareViews()
    const { equal, difference } = again ? viewsEqual(this.#store.db) : { equal: true, difference: null }
    if (!equal) return this.fail(`R10: ${difference ?? ''}`)
    this.#checkTokens()
    this.#checkInboxes()
    const waits = this.#store.db.prepare('select count(*) as n from waits').get() as { n: number }
    if (waits.n > 0) this.fail(`R5: ${waits.n} waits are left when everything rests`)
  }

  /** M1: what was sent and not taken can be seen where it waits. */
  #checkInboxes(): void {
    const rows = this.#store.db.prepare('select name, receiver from messages where waiting = 1').all() as {
      name: string
      receiver: string
    }[]
    const seen = rows.map(({ name, receiver }) => `${name} for ${receiver}`).toSorted()
    const sent = this.ledger.mail.waiting.map(({ id, to }) => `${id} for ${to}`).toSorted()
    if (seen.join() !== sent.join())
      this.fail(`M1: the inboxes have ${seen.join(', ')}; the log says ${sent.join(', ')}`)
  }

  /** R7: no hold is left, and what was used below is what the callees said. */
  #checkTokens(): void {
    const rows = this.#store.db.prepare('select id, tokens_below from turns').all() as {
      id: TurnId
      tokens_below: number
    }[]
    for (const row of rows) {
      const below = this.ledger.below(this.ledger.turn(row.id))
      if (below !== row.tokens_below)
        return this.fail(
          `R7: ${row.id} has ${row.tokens_below} tokens below it, and its callees used ${below}`,
        )
    }
  }
}
