/** The parts of an explanation: what still waits, what was no answer, and what its asker may see. */
import { expect, test } from 'vitest'
import { handOn, never } from '../../../test/kits/explain.ts'
import { world } from '../../../test/kits/world.ts'
import type { Event, StoredEvent } from '../../model/event.ts'
import type { TurnRow } from '../../model/facts.ts'
import type { SessionId } from '../../model/id.ts'
import { listEnds } from './explain-ends.ts'
import type { ExplainPorts } from './explain-ports.ts'
import { explainRoots } from './explain-roots.ts'
import { listWaits } from './explain-waits.ts'
import { explainStall } from './explain.ts'

const row = (id: string, more: object = {}): TurnRow =>
  ({
    id,
    session: `ses_${id}`,
    state: 'running',
    grant: { agent: id, path: [], tokensMax: null },
    call: null,
    openedAt: 0,
    openedSeq: 1,
    deadline: 100,
    stopping: null,
    tokensUsed: 0,
    tokensBelow: 0,
    ...more,
  }) as unknown as TurnRow

const stored = (...events: object[]): StoredEvent[] =>
  events.map((event, index) => ({ seq: index + 1, at: index + 1, event: event as Event }))

const waits = async (rows: TurnRow[], events: StoredEvent[], isThere = true) => {
  const ports = {
    store: {
      sessionFacts: async () => ({ running: null }),
      turns: async () => rows,
    },
    isRun: () => isThere,
  } as unknown as ExplainPorts
  const live = rows.map((one) => ({ row: one, session: { kind: 'persistent' } as never }))
  const found = await listWaits(ports, live, events)
  return found.map(({ turn, by, forTurn, question, ahead }) => ({ turn, by, forTurn, question, ahead }))
}

test('a question is waited for until it is answered, and a session until the wait is over', async () => {
  const asked = { type: 'question.asked', turn: 'a', question: 'q1', tool: 't', deadline: 9 }
  const wait = { type: 'wait.started', turn: 'b', target: 'ses_c', until: 9 }
  const rows = [row('a'), row('b')]
  expect(await waits(rows, stored(asked, wait))).toMatchObject([
    { turn: 'a', by: 'person', question: 'q1' },
    { turn: 'b', by: 'wait' },
  ])
  const answered = { type: 'question.answered', turn: 'a', question: 'q1' }
  const over = { type: 'wait.ended', turn: 'b', target: 'ses_c' }
  expect(await waits(rows, stored(asked, wait, answered, over))).toEqual([])
})

test('R7: a turn whose budget is held by a call that has not stopped waits for that', async () => {
  const holder = row('b', { call: { id: 'call_b', callerTurn: 'a', pending: false, background: false } })
  const caller = (used: number) =>
    row('a', { grant: { agent: 'a', path: [], tokensMax: 10 }, tokensUsed: used, tokensBelow: 6 })
  expect(await waits([caller(4), holder], [])).toMatchObject([{ turn: 'a', by: 'tokens', forTurn: 'b' }])
  expect(await waits([caller(3), holder], [])).toEqual([])
})

test('a client waits for its call in the background, an agent goes on beside it', async () => {
  const called = (caller: string): TurnRow =>
    row('b', {
      grant: { agent: 'b', path: [{ agent: caller }, { agent: 'b' }], tokensMax: null },
      call: { id: 'call_b', callerTurn: 'a', caller: 'ses_a', pending: true, background: true },
    })
  expect(await waits([row('a'), called('external')], [])).toMatchObject([
    { turn: 'a', by: 'call', forTurn: 'b' },
  ])
  expect(await waits([row('a'), called('a')], [])).toEqual([])
})

test('what is queued knows how many are before it, and whether a program is away', async () => {
  const queued = (id: string, openedSeq: number) => row(id, { state: 'queued', openedSeq })
  const rows = [queued('a', 1), queued('b', 2), queued('c', 3)]
  expect((await waits(rows, [])).map(({ turn, by, ahead }) => [turn, by, ahead])).toEqual([
    ['a', 'queue', 0],
    ['b', 'queue', 1],
    ['c', 'queue', 2],
  ])
  expect((await waits(rows, [], false)).map(({ by }) => by)).toEqual(['program', 'program', 'program'])
})

test('only what ended without an answer is listed, with what brought it about', () => {
  const ended = (call: string, outcome: string, cause: string, turn: string | null) => ({
    type: 'call.ended',
    call,
    turn,
    target: 'ses_x',
    outcome,
    cause,
    errors: [],
  })
  const events = stored(
    ended('call_1', 'completed', 'answered', 'turn_0'),
    ended('call_2', 'timed_out', 'deadline', 'turn_0'),
    ended('call_3', 'failed', 'answered', 'turn_0'),
  )
  expect(listEnds(events, []).map(({ what, outcome, cause }) => [what, outcome, cause])).toEqual([
    ['call_2', 'timed_out', 'deadline'],
    ['call_3', 'failed', 'failed'],
  ])
})

test('nothing is said of sessions that the asker may not see, also where the chain leads there', async () => {
  const w = await world({
    agents: {
      one: {
        script: async (turn) =>
          String((await turn.tool('call_agent', { agent_id: 'keeper', message: 'x' })).ok),
      },
      two: {
        script: async (turn) =>
          String((await turn.tool('call_agent', { agent_id: 'keeper', message: 'y' })).ok),
      },
      keeper: { script: handOn('secret', 'hide') },
      secret: { script: never },
    },
  })
  void w.ask('one', 'go')
  await w.rest()
  const sent = await w.ask('two', 'go').accepted
  await w.rest()
  if (!('flow' in sent)) throw new Error('refused')
  const hidden = (await w.events('session.created')).find(({ event }) => event.agent === 'secret')?.event
    .session
  const ports = { store: w.store, now: w.clock.now(), lists: w.store.lists, isRun: () => true }
  const all = await explainStall(ports, sent.flow)
  expect(all?.text).toContain('secret')
  const some = await explainStall({ ...ports, sees: async (id: SessionId) => id !== hidden }, sent.flow)
  expect(some?.text).toContain('keeper')
  expect(some?.text).not.toContain('secret')
  expect(await explainStall({ ...ports, sees: async () => false }, sent.flow)).toBeNull()
})

test('with several waits the question for a person is told, and a queued turn is at least the first', async () => {
  const wait = (turn: string, by: string, more: object) =>
    ({
      turn,
      by,
      forAgent: 'coder',
      forTurn: null,
      call: 'call_x',
      question: null,
      since: 0,
      ...more,
    }) as never
  const waits = [
    wait('a', 'call', { deadline: null }),
    wait('a', 'person', { tool: 'shell', question: 'question_1', deadline: null }),
    wait('b', 'queue', { forTurn: 'c', session: 'ses_b', ahead: 0, deadline: null }),
  ]
  const known = { waits, busy: [], ended: [], refused: [], mail: [], now: 60_000 } as never
  const scope = { id: 'flow_1', kind: 'flow', turns: [row('a'), row('b')] } as never
  const roots = await explainRoots({ store: {} } as unknown as ExplainPorts, scope, [], known, new Set())
  expect(roots.map(({ on }) => on)).toEqual(['person', null])
  expect(roots[0]?.sentence).toContain('for a person to allow or deny shell')
  expect(roots[0]?.sentence).toContain(' and 1 more')
  expect(roots[1]?.sentence).toContain('is queued as number 1 behind coder')
})
