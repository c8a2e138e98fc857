/**
 * A planted bug: one guard of the core taken away from outside, by lying about facts or changing what is
 * written.
 */
import type { Event, StoredEvent } from '../src/model/event.ts'
import type { Activation, BelowRow, OpenFacts, SessionFacts, TurnFacts } from '../src/model/facts.ts'
import type { NodeId, TurnId } from '../src/model/id.ts'
import type { RuntimePorts } from '../src/runtime/sessions/runtime.ts'
import type { Due, EntryPage, Key, Tx } from '../src/runtime/kernel/store-port.ts'
import type { SqliteStore } from '../src/store/sqlite.ts'
import type { findBar, knowsLog } from '../src/store/postgres/formats.ts'
import type { Plan } from './plan.ts'

export type Bug = {
  readonly name: string
  /** What the checker should say first. */
  readonly law: string
  readonly says: string
  /** Plans in which it can show; all of them unless given. */
  readonly shows?: (plan: Plan) => boolean
  open?(facts: OpenFacts, node: NodeId): OpenFacts
  activation?(facts: Activation, turn: TurnId, node: NodeId): Activation
  turn?(facts: TurnFacts): TurnFacts
  session?(facts: SessionFacts): SessionFacts
  below?(rows: BelowRow[]): BelowRow[]
  append?(events: readonly Event[], node: NodeId): Event[]
  due?(due: Due): Due
  /** Drops what a transaction names. */
  keys?(keys: readonly Key[]): readonly Key[]
  /** Which keys a transaction neither names nor is asked for. */
  forgets?(keys: readonly Key[]): (key: string) => boolean
  read?(stored: StoredEvent): boolean
  entries?(page: EntryPage): EntryPage
  tx?(tx: Tx, store: SqliteStore): Tx
  acknowledge?: 'early'
  committed?(store: SqliteStore): void
  /** Called once, before anything is written. */
  opened?(store: SqliteStore): void
  ports?(ports: RuntimePorts): RuntimePorts
  /** What is asked about nodes of two versions. */
  findBar?: typeof findBar
  knowsLog?: typeof knowsLog
}
