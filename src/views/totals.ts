/**
 * Totals over the whole log. They are kept over restarts, so only what came after the last time is folded, in small
 * slices that block nothing; afterwards the feed keeps them up to date.
 * The last day is also kept by the minute, for requests over a shorter time.
 */
import type { StoredEvent } from '../model/event.ts'
import type { Millis } from '../model/id.ts'
import type { LogDesk } from '../runtime/desk/log.ts'
import type { Clock } from '../runtime/kernel/ports.ts'
import type { Store } from '../runtime/kernel/store-port.ts'
import type { Numbers } from '../wire/server.ts'
import { RunningSums, type SavedSums, type Sums } from './sums.ts'
import type { TotalsFile } from './totals-file.ts'
import { createFold, knowNothing, type Known, type TotalsFold } from './totals-fold.ts'

type Column = Numbers['columns'][number]
/** `upTo` is how far the log was counted, `end` where it ends. */
export type Totals = Sums & Pick<Numbers, 'complete' | 'from' | 'columns'> & { upTo: number; end: number }

export type TotalsView = {
  /** Since a time, by the minute and at most a day ago; null is all. */
  read(since: Millis | null): Totals
  /** Begins to count, and waits a moment: a log that is not long is counted by then. */
  begun(): Promise<void>
  /** Keeps what was counted. */
  close(): Promise<void>
}

/** What is kept over restarts. The last two are large, and read only where they are needed. */
export type SavedTotals = {
  seq: number
  from: Millis | null
  all: SavedSums
  ages: { width: Millis; first: Millis | null; ages: SavedSums[] }
  minutes: () => Map<Millis, SavedSums>
  known: () => Known
}

type TotalsDeps = {
  clock: Clock
  /** Without it they are counted anew by each process. */
  file?: TotalsFile
  store: Pick<Store, 'read' | 'lastSeq'>
  log: Pick<LogDesk, 'follow'>
  report: (fault: unknown) => void
}

const minuteMs = 60_000
const minutesMax = 24 * 60
const columnsMax = 48
const agesMax = 96
/** So much at a time: a few milliseconds of work, and some of rest. */
const sliceEvents = 500
const restMs = 2
const patienceMs = 300
/** After so many events, or after so long, what was counted is kept: a process that is killed leaves that much. */
const saveEvents = 25_000
const saveMs = 10_000

export const totalsView = (deps: TotalsDeps): TotalsView => new LogTotals(deps)

class LogTotals implements TotalsView {
  readonly #deps: TotalsDeps
  #all = new RunningSums()
  readonly #minutes = once(() => new Map<Millis, RunningSums>())
  #ages = new Ages()
  /** What the minute that is counted now has added: it goes to the three above once, and not with every event. */
  #lately: { minute: Millis; sums: RunningSums } | null = null
  readonly #known = once(() => knowNothing())
  #fold: TotalsFold | null = null
  readonly #stopped = new AbortController()
  #cursor = 0
  /** How far what is kept has counted; null before it was looked at. */
  #saved: number | null = null
  #saving: Promise<void> | null = null
  #from: Millis | null = null
  #state: 'asleep' | 'reading' | 'complete' = 'asleep'
  #unsubscribe: (() => void) | null = null

  constructor(deps: TotalsDeps) {
    this.#deps = deps
  }

  read(since: Millis | null): Totals {
    if (this.#state === 'asleep') this.#begin()
    this.#settle()
    const place = {
      complete: this.#state === 'complete',
      upTo: this.#cursor,
      end: this.#deps.store.lastSeq(),
    }
    if (since === null)
      return { ...this.#all.read(), ...place, from: this.#from, columns: this.#ages.columns() }
    const first = Math.floor(since / minuteMs) * minuteMs
    const minutes = [...this.#minutes.get()].filter(([at]) => at >= first)
    return {
      ...addAll(minutes.map(([, minute]) => minute)).read(),
      ...place,
      from: minutes.length === 0 ? null : Math.min(...minutes.map(([at]) => at)),
      columns: makeColumns(minutes, first, this.#deps.clock.now()),
    }
  }

  async begun(): Promise<void> {
    if (this.#state === 'asleep') this.#begin()
    const { clock } = this.#deps
    for (
      const until = clock.elapsed() + patienceMs;
      this.#state === 'reading' && clock.elapsed() < until && !this.#stopped.signal.aborted;
    )
      await clock.sleep(restMs)
  }

  async close(): Promise<void> {
    this.#stopped.abort()
    this.#unsubscribe?.()
    await this.#saving
    await this.#save()
  }

  #begin(): void {
    this.#state = 'reading'
    this.#catchUp().catch((fault: unknown) => {
      if (this.#stopped.signal.aborted) return
      // The next request resumes here.
      this.#state = 'asleep'
      this.#deps.report(fault)
    })
  }

  async #catchUp(): Promise<void> {
    const { store, clock, log } = this.#deps
    await this.#load()
    for (;;) {
      const { events, more } = await store.read(this.#cursor, {}, sliceEvents)
      this.#take(events)
      if (!more) break
      await clock.sleep(restMs, this.#stopped.signal)
    }
    if (this.#stopped.signal.aborted) return
    this.#state = 'complete'
    if (this.#deps.file !== undefined) void this.#saveForever()
    this.#unsubscribe = log.follow(this.#cursor, null, {
      events: (events) => this.#take(events),
      delta: () => undefined,
    })
  }

  async #load(): Promise<void> {
    if (this.#saved !== null) return
    const saved = (await this.#deps.file?.read()) ?? null
    this.#saved = saved?.seq ?? 0
    if (saved === null) return
    this.#cursor = saved.seq
    this.#from = saved.from
    this.#all = RunningSums.load(saved.all)
    this.#minutes.make = () =>
      new Map(Array.from(saved.minutes(), ([at, sums]) => [at, RunningSums.load(sums)]))
    this.#ages = Ages.load(saved.ages)
    this.#known.make = saved.known
  }

  async #saveForever(): Promise<void> {
    const { signal } = this.#stopped
    for (; !signal.aborted; this.#saveSoon())
      await this.#deps.clock.sleep(saveMs, signal).catch(() => undefined)
  }

  #saveSoon(): void {
    if (this.#saving !== null || this.#stopped.signal.aborted) return
    this.#saving = this.#save().finally(() => (this.#saving = null))
  }

  /** Written down as it is at this moment; what is counted meanwhile is for the next time. */
  async #save(): Promise<void> {
    const { file, report } = this.#deps
    if (file === undefined || this.#saved === null || this.#cursor === this.#saved) return
    this.#saved = this.#cursor
    this.#settle()
    const saved: SavedTotals = {
      seq: this.#cursor,
      from: this.#from,
      all: this.#all.save(),
      ages: this.#ages.save(),
      minutes: () => new Map(Array.from(this.#minutes.get(), ([at, sums]) => [at, sums.save()])),
      known: this.#known.get,
    }
    // A total that could not be kept is counted again.
    await file.write(saved).catch(report)
  }

  #take(events: readonly StoredEvent[]): void {
    for (const { seq, at, event } of events) {
      if (seq <= this.#cursor) continue
      this.#cursor = seq
      this.#from ??= at
      const minute = Math.floor(at / minuteMs) * minuteMs
      if (this.#lately?.minute !== minute) this.#settle()
      this.#lately ??= { minute, sums: new RunningSums() }
      this.#fold ??= createFold(this.#known.get())
      this.#fold(event, at, this.#lately.sums)
    }
    if (this.#cursor - (this.#saved ?? 0) >= saveEvents) this.#saveSoon()
  }

  #settle(): void {
    if (this.#lately === null) return
    const { minute, sums } = this.#lately
    this.#lately = null
    for (const whole of [this.#all, this.#ages.at(minute), ...this.#listMinutes(minute)]) whole.add(sums)
  }

  #listMinutes(minute: Millis): RunningSums[] {
    const oldest = Math.floor(this.#deps.clock.now() / minuteMs) * minuteMs - minutesMax * minuteMs
    if (minute < oldest) return []
    const minutes = this.#minutes.get()
    const known = minutes.get(minute)
    if (known !== undefined) return [known]
    for (const past of minutes.keys()) if (past < oldest) minutes.delete(past)
    const made = new RunningSums()
    minutes.set(minute, made)
    return [made]
  }
}

/** Made when it is needed first. */
function once<T>(make: () => T): { make: () => T; get: () => T } {
  let made: T | undefined
  const lazy = { make, get: (): T => (made ??= lazy.make()) }
  return lazy
}

/** All of time in few pieces: where they do not suffice, two become one. */
class Ages {
  #width = minuteMs
  #first: Millis | null = null
  #ages: RunningSums[] = []

  static load({ width, first, ages }: SavedTotals['ages']): Ages {
    const loaded = new Ages()
    loaded.#width = width
    loaded.#first = first
    loaded.#ages = ages.map((age) => RunningSums.load(age))
    return loaded
  }

  save = (): SavedTotals['ages'] => ({
    width: this.#width,
    first: this.#first,
    ages: this.#ages.map((age) => age.save()),
  })

  at(time: Millis): RunningSums {
    this.#first ??= Math.floor(time / minuteMs) * minuteMs
    let index = this.#index(time)
    for (; index >= agesMax; index = this.#index(time)) {
      this.#width *= 2
      this.#ages = Array.from({ length: Math.ceil(this.#ages.length / 2) }, (_, half) =>
        addAll(this.#ages.slice(half * 2, half * 2 + 2)),
      )
    }
    while (this.#ages.length <= index) this.#ages.push(new RunningSums())
    return this.#ages[index] as RunningSums
  }

  /** A clock that was set back counts for the first. */
  #index = (time: Millis): number => Math.max(0, Math.floor((time - (this.#first ?? time)) / this.#width))

  columns = (): Column[] =>
    this.#ages.map(({ calls, refused, tokens }, index) => {
      const from = (this.#first ?? 0) + index * this.#width
      return { from, widthMs: this.#width, calls, refused, tokens }
    })
}

function addAll(parts: readonly RunningSums[]): RunningSums {
  const sums = new RunningSums()
  for (const part of parts) sums.add(part)
  return sums
}

function makeColumns(
  minutes: readonly (readonly [Millis, RunningSums])[],
  first: Millis,
  now: Millis,
): Column[] {
  const widthMs = Math.max(1, Math.ceil((now - first) / minuteMs / columnsMax)) * minuteMs
  const columns = Array.from(
    { length: Math.min(columnsMax, Math.max(1, Math.ceil((now - first) / widthMs))) },
    (_, index): Column => ({ from: first + index * widthMs, widthMs, calls: 0, refused: 0, tokens: 0 }),
  )
  for (const [at, { calls, refused, tokens }] of minutes) {
    const column = columns[Math.min(columns.length - 1, Math.floor((at - first) / widthMs))] as Column
    column.calls += calls
    column.refused += refused
    column.tokens += tokens
  }
  return columns
}
