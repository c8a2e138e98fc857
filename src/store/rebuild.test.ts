import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import type { Event } from '../model/event.ts'
import type { CallId, SessionId, TurnId } from '../model/id.ts'
import { append, callEnded, cancelled, created, ended, opened, refused, rested, running, said, sent, started, stepped, summarised, testClock, waited } from '../../test/store-kit.ts'
import { rebuild, viewsEqual } from './rebuild.ts'
import { sqliteStore, type SqliteStore } from './sqlite.ts'

function memory(now = testClock().now): SqliteStore {
  const store = sqliteStore({ directory: ':memory:', now })
  onTestFinished(() => store.close())
  return store
}

type Turn = { id: TurnId; session: SessionId; state: 'queued' | 'running' | 'ended'; caller: Turn | null; pending: boolean; stopping: boolean; used: number; /** Zero is no budget. */ held: number }

/** What the runtime keeps to: a small model that says which event may come next. `pick` is where chance comes from. */
class World {
  readonly sessions: { id: SessionId; persistent: boolean; entries: number }[] = []
  readonly turns: Turn[] = []
  readonly waits = new Set<string>()
  #next = 0
  readonly #pick: (count: number) => number
  constructor(pick: (count: number) => number) {
    this.#pick = pick
  }

  #one<T>(of: readonly T[]): T | undefined {
    return of.length === 0 ? undefined : of[this.#pick(of.length)]
  }

  #fresh = (): number => (this.#next += 1)

  #running = (): Turn[] => this.turns.filter(({ state }) => state === 'running')

  /** The events of one transaction, or none where this act is not possible now. */
  act(kind: number): Event[] {
    const acts = [this.#send, this.#call, this.#refuse, this.#start, this.#step, this.#cancel, this.#endTurn, this.#endCall, this.#wait, this.#claim, this.#archive]
    return acts[kind % acts.length]?.() ?? []
  }

  #send = (): Event[] => {
    const known = this.#pick(3) === 0 ? undefined : this.#one(this.sessions.filter(({ persistent }) => persistent))
    const session = known?.id ?? `ses_${this.#fresh()}`
    const turn: TurnId = `turn_${this.#fresh()}`
    this.turns.push({ id: turn, session, state: 'queued', caller: null, pending: false, stopping: false, used: 0, held: 0 })
    if (known === undefined) this.sessions.push({ id: session, persistent: true, entries: 0 })
    return [...(known === undefined ? [created(session)] : []), sent(session, turn)]
  }

  #call = (): Event[] => {
    const caller = this.#one(this.#running().filter(({ stopping }) => !stopping))
    if (caller === undefined) return []
    const known = this.#pick(2) === 0 ? undefined : this.#one(this.sessions.filter(({ persistent, id }) => persistent && id !== caller.session))
    const suffix = this.#fresh()
    const session = known?.id ?? `ses_${suffix}`
    if (known === undefined) this.sessions.push({ id: session, persistent: false, entries: 0 })
    const held = this.#one(caller.held > 0 ? [10, 1000] : [0, 10, 1000]) ?? 0
    this.turns.push({ id: `turn_${suffix}`, session, state: 'queued', caller, pending: true, stopping: false, used: 0, held })
    const call = opened({ from: caller.session, in: caller.id, call: `call_${suffix}`, to: session, tokens: held === 0 ? null : held, background: this.#pick(2) === 0 })
    return [...(known === undefined ? [created(session, 'ephemeral')] : []), call]
  }

  #refuse = (): Event[] => {
    const caller = this.#one(this.#running())
    return caller === undefined ? [] : [refused(caller.session, caller.id, `call_${this.#fresh()}`)]
  }

  #start = (): Event[] => {
    const turn = this.#one(this.turns.filter(({ state, session }) => state === 'queued' && !this.#running().some((other) => other.session === session)))
    if (turn === undefined) return []
    turn.state = 'running'
    return [started(turn.session, turn.id)]
  }

  #step = (): Event[] => {
    const turn = this.#one(this.#running())
    if (turn === undefined) return []
    const tokens = this.#pick(50)
    turn.used += tokens
    if (this.#pick(5) === 0) return [summarised(turn.session, turn.id, `summary ${this.#fresh()}`, tokens)].map((event) => ({ ...event, usage: { input: tokens, output: 0, estimated: true } }))
    return [stepped(turn.session, turn.id, { input: tokens, output: 0, estimated: false }), stepped(turn.session, turn.id, null, 'tool')]
  }

  #cancel = (): Event[] => {
    const turn = this.#one(this.#running().filter(({ stopping }) => !stopping))
    if (turn === undefined) return []
    turn.stopping = true
    return [...this.#endPending(turn), cancelled(turn.session, turn.id)]
  }

  #endTurn = (): Event[] => {
    const turn = this.#one(this.#running())
    if (turn === undefined) return []
    const below = this.turns.filter((other) => other.caller === turn).flatMap((other) => this.#endPending(other))
    turn.state = 'ended'
    for (const wait of this.waits) if (wait.startsWith(`${turn.session} `)) this.waits.delete(wait)
    const session = this.sessions.find(({ id }) => id === turn.session)
    const entry = session?.persistent === true ? said(session.entries + 1, 'asked', 'answered 😀') : null
    if (session !== undefined && entry !== null) session.entries += 2
    return [...below, ended(turn.session, turn.id, turn.used, entry, this.#pick(2) === 0 ? ['read'] : []), ...this.#endPending(turn)]
  }

  #endCall = (): Event[] => {
    const turn = this.#one(this.turns.filter(({ pending }) => pending))
    return turn === undefined ? [] : this.#endPending(turn)
  }

  #endPending(turn: Turn): Event[] {
    if (!turn.pending || turn.caller === null) return []
    turn.pending = false
    if (turn.state === 'queued') turn.state = 'ended'
    const call: CallId = `call_${turn.id.slice(5)}`
    return [callEnded(turn.caller.session, turn.caller.id, call, turn.session, this.#one(['completed', 'timed_out', 'cancelled'] as const) ?? 'lost')]
  }

  #wait = (): Event[] => {
    const waiter = this.#one(this.#running())
    const target = this.#one(this.sessions)
    if (waiter === undefined || target === undefined) return []
    const wait = `${waiter.session} ${target.id}`
    if (this.waits.delete(wait)) return [rested(waiter.session, waiter.id, target.id)]
    this.waits.add(wait)
    return [waited(waiter.session, waiter.id, target.id)]
  }

  #claim = (): Event[] => {
    const turn = this.#one(this.#running())
    return turn === undefined ? [] : [{ type: 'session.claimed', session: turn.session, turn: turn.id, node: 'node_2', epoch: 2 + this.#pick(5) }]
  }

  #archive = (): Event[] => {
    const session = this.#one(this.sessions)
    return session === undefined || this.#pick(4) > 0 ? [] : [{ type: 'session.archived', session: session.id, turn: null }]
  }
}

/** What a turn's calls hold or have used, counted from the model of the world rather than from deltas. */
function belowOf(world: World, turn: Turn, ran: ReadonlySet<TurnId>): number {
  return world.turns.filter(({ caller }) => caller === turn).reduce((sum, callee) => {
    if (callee.state !== 'ended') return sum + callee.held
    return sum + (ran.has(callee.id) ? callee.used + belowOf(world, callee, ran) : 0)
  }, 0)
}

const acts = fc.array(fc.tuple(fc.nat(10), fc.array(fc.nat(1000), { minLength: 4, maxLength: 4 })), { minLength: 5, maxLength: 80, size: 'max' })

async function live(store: SqliteStore, chosen: readonly (readonly [number, readonly number[]])[]): Promise<{ world: World; events: Event[] }> {
  let chances: number[] = []
  const world = new World((count) => (chances.shift() ?? 0) % count)
  const all: Event[] = []
  for (const [kind, chance] of chosen) {
    chances = [...chance]
    const events = world.act(kind)
    if (events.length > 0) await append(store, ...events)
    all.push(...events)
  }
  return { world, events: all }
}

test('R10: whatever happens, the live views are the fold of the log, and a rebuild gives the same', async () => {
  await fc.assert(fc.asyncProperty(acts, async (chosen) => {
    const store = memory()
    await live(store, chosen)
    expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
    const before = await store.turns({ flow: 'flow_1' }, 1000)
    rebuild(store.db)
    expect(await store.turns({ flow: 'flow_1' }, 1000)).toEqual(before)
    expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
  }), { numRuns: 60 })
})

test('R7: whatever happens, a turn with a budget counts what its running calls hold and what its stopped ones used, with all below them', async () => {
  await fc.assert(fc.asyncProperty(acts, async (chosen) => {
    const store = memory()
    const { world, events } = await live(store, chosen)
    const ran = new Set(events.flatMap((event) => (event.type === 'turn.started' && event.turn !== null ? [event.turn] : [])))
    for (const turn of world.turns.filter(({ held }) => held > 0)) expect([turn.id, (await store.turn(turn.id))?.tokensBelow]).toEqual([turn.id, belowOf(world, turn, ran)])
  }), { numRuns: 60 })
})

const damages: [string, string][] = [
  ['a row is missing', `delete from turns where id = 'turn_a'`], ['a row is too many', `insert into waits values ('ses_x', 'ses_y', 'turn_x', 1)`],
  ['a value is other', 'update turns set tokens_used = tokens_used + 1'], ['a timeline lacks an event', 'delete from log_sessions'], ['a text is other', `update entries set text = 'forged'`],
]
test.each(damages)('R10: it is seen and repaired where %s', async (_name, damage) => {
  const store = memory()
  await append(store, ...running('a'), ended('ses_a', 'turn_a', 3, said(1, 'x', 'y')))
  expect(viewsEqual(store.db).equal).toBe(true)
  store.db.exec(damage)
  expect(viewsEqual(store.db)).toMatchObject({ equal: false, difference: expect.stringMatching(/^\w+: the view has .+, the fold of the log has .+/) })
  rebuild(store.db)
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
})

test('a rebuild that fails leaves the views as they were', async () => {
  const store = memory()
  await append(store, ...running('a'))
  store.db.exec(`insert into log values (99, 0, '[{"type":"turn.ended","session":"ses_a","turn":"turn_unknown","tokensUsed":0,"toolCalls":[],"entry":null}]')`)
  expect(() => rebuild(store.db)).toThrow('turn_unknown')
  expect((await store.turn('turn_a'))?.state).toBe('running')
})
