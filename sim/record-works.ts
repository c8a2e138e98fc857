/**
 * What the nodes of a plan did with the store, in the order in which it took effect: each transaction with the
 * facts that it read and the events that it wrote, and each heartbeat. Another engine can then be asked the same.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Event } from '../src/model/event.ts'
import type { NodeId } from '../src/model/id.ts'
import { isRecord } from '../src/model/json.ts'
import type { Key, Tx } from '../src/runtime/kernel/store-port.ts'

export type Fact = { name: string; given: readonly unknown[]; value: string }
export type Work = {
  kind: 'work'
  host: number
  now: number
  keys: readonly Key[]
  facts: readonly Fact[]
  events: readonly Event[]
}
export type Beat = { kind: 'beat'; host: number; now: number; node: NodeId; ttlMs: number }
export type LogLine = { seq: number; at: number; events: string }

type Readers = Record<string, (...given: unknown[]) => Promise<unknown>>

export class Recorder {
  /** What was in the log before the nodes started. */
  before: LogLine[] = []
  /** All of it at the end. */
  after: LogLine[] = []
  readonly done: (Work | Beat)[] = []

  begin(db: DatabaseSync): void {
    this.before = readLog(db)
  }

  end(db: DatabaseSync): void {
    this.after = readLog(db)
  }

  /** Returns how to take it back. */
  note(one: Work | Beat): () => void {
    this.done.push(one)
    return () => {
      const at = this.done.lastIndexOf(one)
      if (at >= 0) this.done.splice(at, 1)
    }
  }

  /** The same transaction, whose facts are noted. */
  watch(tx: Tx, facts: Fact[]): Tx {
    const noted: Record<string, unknown> = { ...tx }
    for (const [name, read] of Object.entries(tx as unknown as Readers)) {
      if (typeof read !== 'function' || name === 'append') continue
      noted[name] = async (...given: unknown[]) => {
        const value = await read(...given)
        facts.push({ name, given, value: renderFact(value) })
        return value
      }
    }
    return noted as unknown as Tx
  }
}

const readLog = (db: DatabaseSync): LogLine[] =>
  db.prepare('select seq, at, events from log order by seq').all() as LogLine[]

/**
 * Leases are not under keys: whether a runner is alive may change at any moment, and its epoch fences it. Sets are
 * shown by what is in them. A fact from memory has its fields in another order.
 */
export const renderFact = (value: unknown): string =>
  JSON.stringify(value, (name, part: unknown) =>
    name === 'runnerAlive'
      ? undefined
      : part instanceof Set
        ? toOrdered(part as Set<string>)
        : sortFields(part),
  ) ?? 'nothing'

const toOrdered = (set: ReadonlySet<string>): string[] => [...set].toSorted((a, b) => (a < b ? -1 : 1))

const sortFields = (part: unknown): unknown =>
  isRecord(part) ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1))) : part
