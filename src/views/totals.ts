/**
 * Totals over the whole log. The first request starts the fold, which runs in small slices so that it blocks
 * nothing; afterwards the feed keeps it up to date.
 * The last day is also kept by the minute, for requests over a shorter time.
 */
import type { Event, EventOf, EventType, StoredEvent } from '../model/event.ts'
import { toTurnId, type Millis, type SessionId, type TurnId } from '../model/id.ts'
import { opensTurn } from '../model/opening.ts'
import type { LogDesk } from '../runtime/desk/log.ts'
import type { Clock } from '../runtime/kernel/ports.ts'
import type { Store } from '../runtime/kernel/store-port.ts'
import type { Numbers } from '../wire/server.ts'
import { boundedMap } from './bounded-map.ts'
import { namelessCodes } from './metrics.ts'
import { boundedNames } from './prometheus-text.ts'
import { RunningSums, type Sums } from './sums.ts'
import { createPlaces, createSpent } from './spending.ts'

type Column = Numbers['columns'][number]
/** `upTo` is how far the log was counted, `end` where it ends. */
export type Totals = Sums & Pick<Numbers, 'complete' | 'from' | 'columns'> & { upTo: number; end: number }

export type TotalsView = {
  /** Since a time, by the minute and at most a day ago; null is all. */
  read(since: Millis | null): Totals
  /** Begins to count, and waits a moment: a log that is not long is counted by then. */
  begun(): Promise<void>
  close(): void
}

type TotalsDeps = {
  clock: Clock
  store: Pick<Store, 'read' | 'lastSeq'>
  log: Pick<LogDesk, 'follow'>
  report: (fault: unknown) => void
}

/** R11 */
const namesMax = 200
const openMax = 20_000
const minuteMs = 60_000
const minutesMax = 24 * 60
const columnsMax = 48
const agesMax = 96
/** So much at a time: about a millisecond of work, and several of rest. */
const sliceEvents = 200
const restMs = 4
const patienceMs = 300

/** Where the tokens of requests without an answer are counted. */
const cutOff = 'cut off'

export const totalsView = (deps: TotalsDeps): TotalsView => new LogTotals(deps)

class LogTotals implements TotalsView {
  readonly #deps: TotalsDeps
  readonly #all = new RunningSums()
  readonly #minutes = new Map<Millis, RunningSums>()
  readonly #ages = new Ages()
  readonly #stopped = new AbortController()
  readonly #fold: (event: Event, at: Millis, into: readonly RunningSums[]) => void = createFold()
  #cursor = 0
  #from: Millis | null = null
  #state: 'asleep' | 'reading' | 'complete' = 'asleep'
  #unsubscribe: (() => void) | null = null

  constructor(deps: TotalsDeps) {
    this.#deps = deps
  }

  read(since: Millis | null): Totals {
    if (this.#state === 'asleep') this.#begin()
    const place = {
      complete: this.#state === 'complete',
      upTo: this.#cursor,
      end: this.#deps.store.lastSeq(),
    }
    if (since === null)
      return { ...this.#all.read(), ...place, from: this.#from, columns: this.#ages.columns() }
    const first = Math.floor(since / minuteMs) * minuteMs
    const minutes = [...this.#minutes].filter(([at]) => at >= first)
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

  close(): void {
    this.#stopped.abort()
    this.#unsubscribe?.()
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
    for (;;) {
      const { events, more } = await store.read(this.#cursor, {}, sliceEvents)
      this.#take(events)
      if (!more) break
      await clock.sleep(restMs, this.#stopped.signal)
    }
    if (this.#stopped.signal.aborted) return
    this.#state = 'complete'
    this.#unsubscribe = log.follow(this.#cursor, null, {
      events: (events) => this.#take(events),
      delta: () => undefined,
    })
  }

  #take(events: readonly StoredEvent[]): void {
    for (const { seq, at, event } of events) {
      if (seq <= this.#cursor) continue
      this.#cursor = seq
      this.#from ??= at
      const age = this.#ages.at(at)
      this.#fold(event, at, [this.#all, age, ...this.#listMinutes(at)])
    }
  }

  #listMinutes(at: Millis): RunningSums[] {
    const minute = Math.floor(at / minuteMs) * minuteMs
    const oldest = Math.floor(this.#deps.clock.now() / minuteMs) * minuteMs - minutesMax * minuteMs
    if (minute < oldest) return []
    const known = this.#minutes.get(minute)
    if (known !== undefined) return [known]
    for (const past of this.#minutes.keys()) if (past < oldest) this.#minutes.delete(past)
    const made = new RunningSums()
    this.#minutes.set(minute, made)
    return [made]
  }
}

/** All of time in few pieces: where they do not suffice, two become one. */
class Ages {
  #width = minuteMs
  #first: Millis | null = null
  #ages: RunningSums[] = []

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

type Folds = { [T in EventType]?: (event: EventOf<T>, at: Millis, into: readonly RunningSums[]) => void }

/** A fork begins with its part of what was said. */
const shareSaid = ({ entries, back }: EventOf<'session.forked'>, said: number): number =>
  Math.round(said * (entries / Math.max(1, entries + back)))

function createFold(): (event: Event, at: Millis, into: readonly RunningSums[]) => void {
  const agents = boundedNames(namesMax)
  const models = boundedNames(namesMax)
  const agentOfTurn = boundedMap<TurnId, string>(openMax)
  const places = createPlaces(namesMax, openMax)
  const agentOfCall = boundedMap<string, string>(openMax)
  const spent = createSpent(openMax)
  /** Tokens of conversations so far. */
  const said = boundedMap<SessionId, number>(openMax)
  const folds: Folds = {
    'session.forked': (event) => said.set(event.session, shareSaid(event, said.get(event.from) ?? 0)),
    'call.opened': (event, _at, into) => {
      const agent = agents(event.grant.agent)
      agentOfTurn.set(toTurnId(event.call), agent)
      agentOfCall.set(event.call, agent)
      const history = said.get(event.session) ?? 0
      for (const sums of into) sums.addCall(event.context.tokens, history)
    },
    'call.refused': (event, _at, into) => {
      const agent =
        event.agent === '' || namelessCodes.has(event.refusal.code) ? 'unknown' : agents(event.agent)
      for (const sums of into) {
        sums.refused += 1
        sums.addOutcome(agent, 'refused')
      }
    },
    'call.ended': (event, _at, into) => {
      const agent = agentOfCall.take(event.call) ?? 'other'
      for (const sums of into) {
        sums.addOutcome(agent, event.outcome)
        sums.addTime(agent, Math.max(0, event.endedAt - event.openedAt))
      }
    },
    'session.created': places.open,
    'step.ended': (event, at, into) => {
      if (event.usage === null) return
      const turn = event.turn ?? 'turn_'
      const agent = agentOfTurn.get(turn) ?? 'other'
      const model = models(event.usage.model ?? event.name)
      spent.add(turn, event.usage)
      for (const sums of into) sums.addTokens({ agent, model, ...places.find(event, at) }, event.usage)
    },
    'turn.ended': (event, at, into) => {
      const turn = event.turn ?? 'turn_'
      const agent = agentOfTurn.take(turn) ?? 'other'
      const usage = spent.takeRest(turn, event)
      const place = { agent, model: models(cutOff), ...places.find(event, at) }
      if (usage !== null) for (const sums of into) sums.addTokens(place, usage)
      if (event.entry !== null)
        said.set(
          event.session,
          (said.get(event.session) ?? 0) + event.entry.askedTokens + event.entry.answeredTokens,
        )
    },
  }
  return (event, at, into) => {
    if (opensTurn(event)) {
      agentOfTurn.set(event.turn, agents(event.grant.agent))
      const isRoot = event.flow.slice(5) === event.turn.slice(5)
      for (const sums of into) {
        sums.turns += 1
        if (isRoot) sums.requests += 1
      }
    }
    const fold = folds[event.type] as
      | ((event: Event, at: Millis, into: readonly RunningSums[]) => void)
      | undefined
    fold?.(event, at, into)
  }
}
