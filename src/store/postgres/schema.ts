/**
 * What stands in PostgreSQL: the log and the leases, and nothing that could be derived. Every node folds the log
 * into views of its own, with the functions that fold SQLite's, so that both engines decide alike.
 *
 * `seq` is the number of a row's last event. Numbers are given out under one lock that is held until the commit:
 * they have no gaps, they rise in the order of the commits, and who has read up to one has missed nothing before
 * it. `mark` says which commit wrote a row, so that a node that lost its connection can find out.
 */
import { createHash } from 'node:crypto'
import { migrations } from '../schema.ts'

/** Which events a log may have. SQLite counts its migrations in the same way. */
export const logFormat = migrations.length

/** Applied in order; `meta.version` counts those applied. Never edit a released one: add another. */
export const steps: readonly string[] = [
  `create table log (
    seq bigint primary key, at bigint not null, events text not null, mark text not null
  );
  create table nodes (id text primary key, until bigint not null, format integer not null, about text);`,
]

export type Places = {
  /** The schema, quoted. */
  schema: string
  channel: string
  /** Held shared by every transaction, alone by one that may read everything. */
  everything: bigint
  /** Held while numbers are given out, until they are committed. */
  numbers: bigint
  /** Held while the tables are made. */
  making: bigint
  keyOf: (key: string) => bigint
}

const plainName = /^[a-z_][a-z0-9_]{0,50}$/

/** Advisory locks belong to a whole database, so they carry the name of the schema. */
export function placesIn(name: string): Places {
  if (!plainName.test(name)) throw new Error(`"${name}" cannot be the name of a schema`)
  const keyOf = (key: string): bigint => createHash('sha1').update(`${name}/${key}`).digest().readBigInt64BE()
  return {
    schema: `"${name}"`,
    channel: `"${name}"`,
    everything: keyOf('everything'),
    numbers: keyOf('numbers'),
    making: keyOf('making'),
    keyOf,
  }
}
