/**
 * Runs one work of a group inside the open transaction: facts, decision, and the events that it appends.
 * R1: works run alone, so facts cannot change between check and append.
 */
import { AppendFault, NeedsKeys, type Hint, type Key } from '../runtime/kernel/store-port.ts'
import type { Event } from '../model/event.ts'
import type { SessionId } from '../model/id.ts'
import type { Behind } from './behind.ts'
import { createTx, need, type Reading } from './facts.ts'
import { collectHints } from './hints.ts'
import { serialise } from './log-row.ts'
import type { QueueOptions } from './queue-options.ts'
import type { Job, Settled } from './work-queue.ts'
import type { Writer } from './writer.ts'

const rerunsMax = 5

type Deps = {
  options: QueueOptions
  behind: Behind
  writer: () => Writer
  /** Until its texts were looked at; it runs again then. */
  hold: (job: Job, events: readonly Event[]) => void
}

export class WorkRunner {
  /** The number of the last event that was appended, committed or not. */
  seq: number
  /** Whether a work is deciding. */
  isDeciding = false
  /** Whether a work's events are being written: from then on the group cannot be committed without them. */
  isWriting = false
  readonly #deps: Deps

  constructor(seq: number, deps: Deps) {
    this.seq = seq
    this.#deps = deps
  }

  /** Null where the job is held. */
  async run(job: Job): Promise<Settled | null> {
    const { options, behind, hold } = this.#deps
    let keys = new Set<string>(job.keys)
    for (let rerun = 0; ; rerun += 1) {
      const events: Event[] = []
      const held = rerun > rerunsMax ? null : keys
      const reading = behind.read(Math.floor(options.now()), held)
      try {
        this.isDeciding = true
        const value = await job.work(createTx(reading, events))
        this.isDeciding = false
        const clean = events.length === 0 ? null : options.cleaner.clean(events, job.known)
        if (clean === undefined) {
          job.keys = [...keys] as Key[]
          hold(job, events)
          return null
        }
        return { job, ok: true, value, hints: this.#append(clean ?? events, reading) }
      } catch (error) {
        this.isDeciding = false
        // With the global key nothing can be missing: a work that still asks is wrong, and is rejected.
        if (error instanceof NeedsKeys && held !== null) {
          keys = new Set([...keys, ...error.keys])
          continue
        }
        if (error instanceof AppendFault && (this.isWriting || behind.broken)) throw error
        return { job, ok: false, value: error, hints: [] }
      }
    }
  }

  #append(events: readonly Event[], reading: Reading): Hint[] {
    if (events.length === 0) return []
    const at = reading.now
    const sessions = new Set<SessionId>()
    for (const event of events) sessions.add(event.session)
    // A timeline is written only under its session's key, so that its order means something on every engine.
    const keys: Key[] = []
    for (const session of sessions) keys.push(`session:${session}`)
    need(reading, keys)
    const text = serialise(events)
    this.isWriting = true
    try {
      this.seq += events.length
      this.#deps.writer().log.run(this.seq, at, text)
      this.#deps.behind.append({ seq: this.seq, at, events, sessions }, text.length)
    } catch (cause) {
      throw new AppendFault(`an event could not be recorded (${(cause as Error).message})`, { cause })
    }
    this.isWriting = false
    return collectHints(events, { first: this.seq - events.length + 1, at })
  }
}
