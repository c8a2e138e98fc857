/**
 * Runs the works of a group on this node's views, and folds what they append, to know that it can be folded. The
 * transaction of the views stays open until PostgreSQL has said whether it keeps that.
 */
import assert from 'node:assert/strict'
import type { Event } from '../../model/event.ts'
import type { Millis, SessionId } from '../../model/id.ts'
import { AppendFault, NeedsKeys } from '../../runtime/kernel/store-port.ts'
import type { Cleaner, Hint, Key } from '../../runtime/kernel/store-port.ts'
import { applyAll } from '../apply.ts'
import { serialise } from '../log-row.ts'
import { isDiskFault } from '../disk-fault.ts'
import { createTx, need, type Reading } from '../facts.ts'
import { collectHints } from '../hints.ts'
import { needsEverything, type Job } from './group.ts'
import type { Appended } from './remote.ts'
import type { Replica } from './replica.ts'

export type Settled = { job: Job; ok: boolean; value: unknown }
/** A work that runs again: with more keys, or when its texts were looked at. */
type Again = { job: Job; keys: readonly Key[] } | { job: Job; events: readonly Event[] }
/** What a group decided and wants to append. `rows` are numbered as if nobody came between. */
export type Decided = { settled: Settled[]; again: Again[]; rows: Appended[]; hints: Hint[] }

export async function decideGroup(
  replica: Replica,
  cleaner: Cleaner,
  group: readonly Job[],
  now: Millis,
): Promise<Decided> {
  let jobs = group
  for (;;) {
    const decided: Decided = { settled: [], again: [], rows: [], hints: [] }
    replica.writer.begin.run()
    let isWorking = true
    // A work may await only `tx`, or it would hold its keys longer than it must.
    const watch = setImmediate(() =>
      assert(!isWorking, 'a transaction awaited something other than its facts'),
    )
    let current: Job | undefined
    try {
      for (const job of jobs) {
        current = job
        await decideOne(replica, cleaner, job, now, decided)
      }
      return decided
    } catch (cause) {
      replica.undo()
      // What one work appends cannot be written: the others run again without it.
      if (!(cause instanceof AppendFault) || isDiskFault(cause.cause)) throw cause
      current?.reject(cause)
      jobs = jobs.filter((job) => job !== current)
    } finally {
      isWorking = false
      clearImmediate(watch)
    }
  }
}

async function decideOne(
  replica: Replica,
  cleaner: Cleaner,
  job: Job,
  now: Millis,
  decided: Decided,
): Promise<void> {
  const held = needsEverything(job) ? null : new Set<string>(job.keys)
  const reading: Reading = { sql: replica.writer.facts, now, held }
  const events: Event[] = []
  try {
    const value = await job.work(createTx(reading, events))
    const clean = events.length === 0 ? null : cleaner.clean(events, job.known)
    if (clean === undefined) decided.again.push({ job, events })
    else {
      append(replica, clean ?? events, reading, decided)
      decided.settled.push({ job, ok: true, value })
    }
  } catch (error) {
    if (error instanceof NeedsKeys && held !== null)
      decided.again.push({ job, keys: [...new Set([...job.keys, ...error.keys])] })
    else if (error instanceof AppendFault) throw error
    else decided.settled.push({ job, ok: false, value: error })
  }
}

function append(
  { writer, seq }: Replica,
  events: readonly Event[],
  reading: Reading,
  { rows, hints }: Decided,
): void {
  if (events.length === 0) return
  const at = reading.now
  const sessions = new Set<SessionId>(events.map(({ session }) => session))
  // A timeline is written only under its session's key, so that its order means something.
  const keys = Array.from(sessions, (session): Key => `session:${session}`)
  need(reading, keys)
  const text = serialise(events)
  const upTo = (rows.at(-1)?.upTo ?? 0) + events.length
  try {
    writer.log.run(seq + upTo, at, text)
    applyAll(writer.writes, { seq: seq + upTo, at }, events, sessions)
  } catch (cause) {
    throw new AppendFault(`an event could not be recorded (${(cause as Error).message})`, { cause })
  }
  rows.push({ upTo, at, text })
  hints.push(...collectHints(events, { first: seq + upTo - events.length + 1, at }))
}
