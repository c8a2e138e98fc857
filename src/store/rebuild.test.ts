import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import type { Event } from '../model/event.ts'
import type { CallId, SessionId, TurnId } from '../model/id.ts'
import {
  append,
  callEnded,
  cancelled,
  created,
  ended,
  mailed,
  opened,
  refused,
  rested,
  running,
  said,
  sent,
  started,
  stepped,
  summarised,
  testClock,
  waited,
} from '../../test/kits/store.ts'
import { rebuild, viewsEqual } from './rebuild.ts'
import { sqliteStore, type SqliteStore } from './sqlite.ts'
import { viewsProblem } from './views-belong.ts'

function memory(now = testClock().now): SqliteStore {
  const store = sqliteStore({ directory: ':memory:', now })
  onTestFinished(() => store.close())
  return store
}

type Turn = {
  id: TurnId
  session: SessionId
  state: 'queued' | 'running' | 'ended'
  caller: Turn | null
  pending: boolean
  stopping: boolean
  used: number
  /** Zero is no budget. */
  held: number
}

/**
 * What the runtime keeps to: a small model that says which event may come next. `pick` is where chance comes
 * from.
 */
class World {
  readonly sessions: { id: SessionId; persistent: boolean; entries: number }[] = []
  readonly turns: Turn[] = []
  readonly waits = new Set<string>()
  readonly letters: {
    id: string
    owner: SessionId
    to: SessionId
    state: 'draft' | 'waiting' | 'delivered' | 'over'
  }[] = []
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
    const acts = [
      this.#send,
      this.#call,
      this.#refuse,
      this.#start,
      this.#step,
      this.#cancel,
      this.#endTurn,
      this.#endCall,
      this.#wait,
      this.#claim,
      this.#archive,
      this.#fork,
      this.#draft,
      this.#mail,
      this.#accept,
      this.#endMail,
    ]
    return acts[kind % acts.length]?.() ?? []
  }

  #send = (): Event[] => {
    const known =
      this.#pick(3) === 0 ? undefined : this.#one(this.sessions.filter(({ persistent }) => persistent))
    const session = known?.id ?? `ses_${this.#fresh()}`
    const turn: TurnId = `turn_${this.#fresh()}`
    this.turns.push({
      id: turn,
      session,
      state: 'queued',
      caller: null,
      pending: false,
      stopping: false,
      used: 0,
      held: 0,
    })
    if (known === undefined) this.sessions.push({ id: session, persistent: true, entries: 0 })
    return [...(known === undefined ? [created(session)] : []), sent(session, turn)]
  }

  /** Shares what the other has said so far, or less. */
  #fork = (): Event[] => {
    const from = this.#one(this.sessions.filter(({ persistent }) => persistent))
    if (from === undefined) return []
    const session: SessionId = `ses_${this.#fresh()}`
    const entries = this.#pick(from.entries + 1)
    this.sessions.push({ id: session, persistent: true, entries })
    return [
      created(session),
      { type: 'session.forked', session, turn: null, from: from.id, entries, back: from.entries - entries },
    ]
  }

  #draft = (): Event[] => {
    const owner = this.#one(this.sessions)
    const receiver = this.#one(this.sessions)
    if (owner === undefined || receiver === undefined) return []
    const known =
      this.#pick(2) === 0 ? undefined : this.#one(this.letters.filter(({ state }) => state === 'draft'))
    const target =
      this.#pick(3) === 0 ? ({ kind: 'new' } as const) : ({ kind: 'session', session: receiver.id } as const)
    if (known !== undefined)
      return [
        {
          type: 'message.revised',
          session: known.owner,
          turn: null,
          message: known.id,
          target,
          inReplyTo: null,
          text: `text ${this.#fresh()}`,
          how: 'written',
          instructions: null,
          note: null,
          act: null,
        },
      ]
    const message = `msg_d${this.#fresh()}`
    this.letters.push({ id: message, owner: owner.id, to: receiver.id, state: 'draft' })
    return [
      {
        type: 'message.drafted',
        session: owner.id,
        turn: null,
        message,
        target,
        source: 'agent',
        inReplyTo: null,
        text: 'first',
        act: this.#pick(2) === 0 ? null : `act-${message}`,
      },
    ]
  }

  /** A draft is sent, or a message without one; some answer another. */
  #mail = (): Event[] => {
    const from = this.#one(this.sessions)
    const known =
      this.#pick(2) === 0 ? undefined : this.#one(this.letters.filter(({ state }) => state === 'draft'))
    const to = known === undefined ? this.#one(this.sessions)?.id : known.to
    if (from === undefined || to === undefined) return []
    const answered =
      this.#pick(3) === 0 ? this.#one(this.letters.filter(({ state }) => state === 'delivered')) : undefined
    const letter = known ?? { id: `m${this.#fresh()}`, owner: from.id, to, state: 'waiting' as const }
    if (known === undefined) this.letters.push(letter)
    letter.state = 'waiting'
    return [
      mailed(letter.owner, to, letter.id, { inReplyTo: answered?.id ?? null }),
      ...(answered === undefined
        ? []
        : [
            {
              type: 'message.answered' as const,
              session: answered.to,
              turn: null,
              message: answered.id,
              reply: letter.id,
              from: answered.owner,
            },
          ]),
    ]
  }

  #accept = (): Event[] => {
    const letter = this.#one(this.letters.filter(({ state }) => state === 'waiting'))
    if (letter === undefined) return []
    letter.state = 'delivered'
    const opens = this.sessions.find(({ id }) => id === letter.to)?.persistent === true && this.#pick(2) === 0
    const turn: TurnId | null = opens ? `turn_${letter.id.replace('msg_', '')}` : null
    if (turn !== null)
      this.turns.push({
        id: turn,
        session: letter.to,
        state: 'queued',
        caller: null,
        pending: false,
        stopping: false,
        used: 0,
        held: 0,
      })
    const by = this.#pick(2) === 0 ? null : letter.to
    return [
      {
        type: 'message.accepted',
        session: letter.to,
        turn: null,
        message: letter.id,
        by,
        act: this.#pick(2) === 0 ? null : `take-${letter.id}`,
        from: letter.owner,
      },
      { ...mailed(letter.owner, letter.to, letter.id), type: 'message.delivered', turn, opens },
    ]
  }

  #endMail = (): Event[] => {
    const letter = this.#one(this.letters.filter(({ state }) => state === 'waiting'))
    if (letter === undefined) return []
    letter.state = 'over'
    const place = { session: letter.to, turn: null, message: letter.id, from: letter.owner }
    return this.#pick(2) === 0
      ? [{ type: 'message.declined', ...place, by: null }]
      : [{ type: 'message.died', ...place, cause: 'gone' }]
  }

  #call = (): Event[] => {
    const caller = this.#one(this.#running().filter(({ stopping }) => !stopping))
    if (caller === undefined) return []
    const known =
      this.#pick(2) === 0
        ? undefined
        : this.#one(this.sessions.filter(({ persistent, id }) => persistent && id !== caller.session))
    const suffix = this.#fresh()
    const session = known?.id ?? `ses_${suffix}`
    if (known === undefined) this.sessions.push({ id: session, persistent: false, entries: 0 })
    const held = this.#one(caller.held > 0 ? [10, 1000] : [0, 10, 1000]) ?? 0
    this.turns.push({
      id: `turn_${suffix}`,
      session,
      state: 'queued',
      caller,
      pending: true,
      stopping: false,
      used: 0,
      held,
    })
    const call = opened({
      from: caller.session,
      in: caller.id,
      call: `call_${suffix}`,
      to: session,
      tokens: held === 0 ? null : held,
      background: this.#pick(2) === 0,
    })
    return [...(known === undefined ? [created(session, 'ephemeral')] : []), call]
  }

  #refuse = (): Event[] => {
    const caller = this.#one(this.#running())
    return caller === undefined ? [] : [refused(caller.session, caller.id, `call_${this.#fresh()}`)]
  }

  #start = (): Event[] => {
    const turn = this.#one(
      this.turns.filter(
        ({ state, session }) =>
          state === 'queued' && !this.#running().some((other) => other.session === session),
      ),
    )
    if (turn === undefined) return []
    turn.state = 'running'
    return [started(turn.session, turn.id)]
  }

  #step = (): Event[] => {
    const turn = this.#one(this.#running())
    if (turn === undefined) return []
    const tokens = this.#pick(50)
    turn.used += tokens
    if (this.#pick(5) === 0)
      return [summarised(turn.session, turn.id, `summary ${this.#fresh()}`, tokens)].map((event) => ({
        ...event,
        usage: { input: tokens, output: 0, estimated: true },
      }))
    return [
      stepped(turn.session, turn.id, { input: tokens, output: 0, estimated: false }),
      stepped(turn.session, turn.id, null, 'tool'),
    ]
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
    const below = this.turns
      .filter((other) => other.caller === turn)
      .flatMap((other) => this.#endPending(other))
    turn.state = 'ended'
    for (const wait of this.waits) if (wait.startsWith(`${turn.session} `)) this.waits.delete(wait)
    const session = this.sessions.find(({ id }) => id === turn.session)
    const entry = session?.persistent === true ? said(session.entries + 1, 'asked', 'answered 😀') : null
    if (session !== undefined && entry !== null) session.entries += 2
    return [
      ...below,
      ended(turn.session, turn.id, turn.used, entry, this.#pick(2) === 0 ? ['read'] : []),
      ...this.#endPending(turn),
    ]
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
    return [
      callEnded(
        turn.caller.session,
        turn.caller.id,
        call,
        turn.session,
        this.#one(['completed', 'timed_out', 'cancelled'] as const) ?? 'lost',
      ),
    ]
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
    return turn === undefined
      ? []
      : [
          {
            type: 'session.claimed',
            session: turn.session,
            turn: turn.id,
            node: 'node_2',
            epoch: 2 + this.#pick(5),
          },
        ]
  }

  #archive = (): Event[] => {
    const session = this.#one(this.sessions)
    return session === undefined || this.#pick(4) > 0
      ? []
      : [{ type: 'session.archived', session: session.id, turn: null, cause: 'deleted' }]
  }
}

/** What a turn's calls hold or have used, counted from the model of the world rather than from deltas. */
function belowOf(world: World, turn: Turn, ran: ReadonlySet<TurnId>): number {
  return world.turns
    .filter(({ caller }) => caller === turn)
    .reduce((sum, callee) => {
      if (callee.state !== 'ended') return sum + callee.held
      return sum + (ran.has(callee.id) ? callee.used + belowOf(world, callee, ran) : 0)
    }, 0)
}

const acts = fc.array(fc.tuple(fc.nat(15), fc.array(fc.nat(1000), { minLength: 4, maxLength: 4 })), {
  minLength: 5,
  maxLength: 80,
  size: 'max',
})

async function live(
  store: SqliteStore,
  chosen: readonly (readonly [number, readonly number[]])[],
): Promise<{ world: World; events: Event[] }> {
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
  await fc.assert(
    fc.asyncProperty(acts, async (chosen) => {
      const store = memory()
      await live(store, chosen)
      expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
      expect(viewsProblem(store.db)).toBeNull()
      const before = await store.turns({ flow: 'flow_1' }, 1000)
      rebuild(store.db)
      expect(await store.turns({ flow: 'flow_1' }, 1000)).toEqual(before)
      expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
    }),
    { numRuns: 60 },
  )
})

test('R7: whatever happens, a turn with a budget counts what its running calls hold and what its stopped ones used, with all below them', async () => {
  await fc.assert(
    fc.asyncProperty(acts, async (chosen) => {
      const store = memory()
      const { world, events } = await live(store, chosen)
      const ran = new Set(
        events.flatMap((event) => (event.type === 'turn.started' && event.turn !== null ? [event.turn] : [])),
      )
      for (const turn of world.turns.filter(({ held }) => held > 0))
        expect([turn.id, (await store.turn(turn.id))?.tokensBelow]).toEqual([
          turn.id,
          belowOf(world, turn, ran),
        ])
    }),
    { numRuns: 60 },
  )
})

const damages: [string, string][] = [
  ['a row is missing', `delete from turns where id = 'turn_a'`],
  ['a row is too many', `insert into waits values ('ses_x', 'ses_y', 'turn_x', 1)`],
  ['a value is other', 'update turns set tokens_used = tokens_used + 1'],
  ['a message has gone', 'delete from messages'],
  ['a message has moved', `update messages set state = 'handed', waiting = 0`],
  ['a timeline lacks an event', 'delete from log_sessions'],
  ['a text is other', `update entries set text = 'forged'`],
]
test.each(damages)('R10: it is seen and repaired where %s', async (_name, damage) => {
  const store = memory()
  await append(
    store,
    ...running('a'),
    ended('ses_a', 'turn_a', 3, said(1, 'x', 'y')),
    mailed('ses_b', 'ses_a', 'msg_1'),
  )
  expect(viewsEqual(store.db).equal).toBe(true)
  store.db.exec(damage)
  expect(viewsEqual(store.db)).toMatchObject({
    equal: false,
    difference: expect.stringMatching(/^\w+: the view has .+, the fold of the log has .+/),
  })
  rebuild(store.db)
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
})

test('a rebuild that fails leaves the views as they were', async () => {
  const store = memory()
  await append(store, ...running('a'))
  store.db.exec(
    `insert into log values (99, 0, '[{"type":"turn.ended","session":"ses_a","turn":"turn_unknown","tokensUsed":0,"toolCalls":[],"entry":null}]')`,
  )
  expect(() => rebuild(store.db)).toThrow('turn_unknown')
  expect((await store.turn('turn_a'))?.state).toBe('running')
})
