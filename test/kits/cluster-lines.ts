/** Lines on one PostgreSQL, each as a node of its own, in one process. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { openLine, type OpenLine, type OpenLineOptions } from '../../src/open-line.ts'
import { connect } from '../../src/store/postgres/link.ts'
import type { EventType, StoredEvent } from '../../src/model/event.ts'
import { viewsEqual } from '../../src/store/rebuild.ts'
import { writeConfig } from './cluster-config.ts'
import type { Postgres } from './postgres.ts'

export type NodeOptions = OpenLineOptions & { name: string; labels?: readonly string[] }

let databases = 0

/** A database of its own, so that nodes of other tests are not in it. */
export async function freshDatabase(postgres: Postgres | null): Promise<string> {
  const url = postgres?.url ?? ''
  const name = `cluster_${(databases += 1)}`
  const link = await connect({ url })
  await link.run(`create database ${name}`)
  link.close()
  return url.replace(/\/postgres$/, `/${name}`)
}

export function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-cluster-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

export async function openNode(url: string, { name, labels, ...options }: NodeOptions): Promise<OpenLine> {
  const directory = scratch()
  process.env['TIELINE_DATABASE_URL'] = url
  const line = await openLine({ config: writeConfig(directory, name, labels), leaseMs: 1000, ...options })
  onTestFinished(() => line.close())
  return line
}

/** The whole log: one page ends with what it carries. */
export async function readAll(line: OpenLine, types?: readonly EventType[]): Promise<StoredEvent[]> {
  // So that it has read what others have committed.
  await line.store.transact([], async () => undefined)
  const events: StoredEvent[] = []
  for (let after = 0; after < line.store.lastSeq();) {
    const page = await line.store.read(after, types === undefined ? {} : { types }, 10_000)
    events.push(...page.events)
    after = page.next
  }
  return events
}

/** R3, R6, R10: each call ended once, each turn was started once, and nobody ran it under an older epoch. */

export async function checkLog(line: OpenLine): Promise<void> {
  const events = await readAll(line)
  const ends = events.flatMap(({ event }) => (event.type === 'call.ended' ? [event.call] : []))
  expect(new Set(ends).size).toBe(ends.length)
  const epochs = new Map<string, number>()
  const older = events.filter(({ event }) => {
    if (event.type !== 'session.claimed' && event.type !== 'turn.started') return false
    const before = epochs.get(event.turn ?? '') ?? 0
    epochs.set(event.turn ?? '', event.epoch)
    return event.epoch <= before
  })
  expect(older).toEqual([])
  expect(viewsEqual(line.store.db)).toEqual({ equal: true, difference: null })
}
