/** What the views keep: R7, what turns hold for what they began, in tokens and in money; answers and agents. */
import { expect, test } from 'vitest'
import {
  append,
  callEnded,
  cancelled,
  created,
  ended,
  grantOf,
  mailed,
  opened,
  running,
  said,
  sent,
  started,
  stepped,
  summarised,
} from '../../test/kits/store.ts'
import type { EventOf } from '../model/event.ts'
import type { TurnId } from '../model/id.ts'
import { indexedEntries } from './keyword-index.ts'
import { viewsEqual } from './rebuild.ts'
import { sqliteStore, type SqliteStore } from './sqlite.ts'

const memory = (): SqliteStore => sqliteStore({ directory: ':memory:', now: () => 1000 })

const call = (from: string, name: string, max: number): EventOf<'call.opened'> => {
  const event = opened({
    from: `ses_${from}`,
    in: `turn_${from}`,
    call: `call_${name}`,
    to: `ses_${name}`,
    tokens: max,
  })
  return { ...event, grant: { ...event.grant, nanoUsdMax: max * 10 } }
}
const called = (from: string, name: string, max: number) =>
  [
    created(`ses_${name}`, 'ephemeral'),
    call(from, name, max),
    started(`ses_${name}`, `turn_${name}`),
  ] as const
const spent = (name: string, tokens: number): EventOf<'turn.ended'> => ({
  ...ended(`ses_${name}`, `turn_${name}`, tokens),
  spent: { nanoUsd: tokens * 10, plan: 0, unpriced: 0 },
})
const below = async (store: SqliteStore, turn: TurnId) => {
  const row = await store.turn(turn)
  return [row?.tokensBelow, row?.nanoUsdBelow]
}
const both = (tokens: number): number[] => [tokens, tokens * 10]

test('R7: a call holds what it may use until its turn has stopped; what it and those below used stays', async () => {
  const store = memory()
  await append(store, ...running('a'), ...called('a', 'b', 100))
  await append(store, ...called('b', 'c', 40))
  expect([await below(store, 'turn_a'), await below(store, 'turn_b')]).toEqual([both(100), both(40)])
  await append(store, callEnded('ses_b', 'turn_b', 'call_c', 'ses_c', 'timed_out'))
  await append(store, cancelled('ses_c', 'turn_c', 'timed_out'))
  expect(await below(store, 'turn_b')).toEqual(both(40))
  await append(store, spent('c', 12))
  expect([await below(store, 'turn_a'), await below(store, 'turn_b')]).toEqual([both(100), both(12)])
  await append(store, spent('b', 30), callEnded('ses_a', 'turn_a', 'call_b', 'ses_b'))
  expect(await below(store, 'turn_a')).toEqual(both(42))
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
})

test('R7: a caller that ended before its callee passes the correction on to its own caller', async () => {
  const store = memory()
  await append(store, ...running('a'), ...called('a', 'b', 100), ...called('b', 'c', 40))
  await append(
    store,
    callEnded('ses_b', 'turn_b', 'call_c', 'ses_c', 'cancelled'),
    cancelled('ses_c', 'turn_c'),
    spent('b', 10),
    callEnded('ses_a', 'turn_a', 'call_b', 'ses_b'),
  )
  expect(await below(store, 'turn_a')).toEqual(both(50))
  await append(store, spent('c', 1))
  expect(await below(store, 'turn_a')).toEqual(both(11))
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
})

test('R7: a call that never started gives back all at once', async () => {
  const store = memory()
  await append(store, ...running('a'), created('ses_b'), call('a', 'b', 70))
  expect(await below(store, 'turn_a')).toEqual(both(70))
  await append(store, callEnded('ses_a', 'turn_a', 'call_b', 'ses_b', 'cancelled'))
  expect(await below(store, 'turn_a')).toEqual(both(0))
})

test('R7: what a message may use is taken from its sender for good', async () => {
  const store = memory()
  await append(store, ...running('a'), created('ses_b'))
  const grant = grantOf('b', { tokensMax: 30, nanoUsdMax: 300 })
  await append(store, mailed('ses_a', 'ses_b', 'msg_1', { senderTurn: 'turn_a', grant }))
  expect(await below(store, 'turn_a')).toEqual(both(30))
})

test('an answer has steps where its turn has used tools', async () => {
  const store = memory()
  await append(store, ...running('a'))
  await append(store, ended('ses_a', 'turn_a', 1, said(1, 'q', 'a'), ['read']))
  await append(store, ...running('b'))
  await append(store, ended('ses_b', 'turn_b', 1, said(1, 'q', 'a')))
  const rows = store.db.prepare('select session, role, has_steps from entries order by session, n').all()
  expect(rows.map((row) => Object.values(row))).toEqual([
    ['ses_a', 'user', 0],
    ['ses_a', 'assistant', 1],
    ['ses_b', 'user', 0],
    ['ses_b', 'assistant', 0],
  ])
})

test('a conversation that becomes long has its texts in the index of keywords', async () => {
  const store = memory()
  await append(store, created('ses_a'))
  for (let n = 0; n < 140; n += 1) {
    const turn = `turn_${n}` as const
    await append(
      store,
      sent('ses_a', turn, { flow: `flow_${n}` }),
      started('ses_a', turn),
      ended('ses_a', turn, 1, said(2 * n + 1, 'a question', 'an answer')),
    )
  }
  expect(indexedEntries(store.db, 'ses_a', 280)).toBeGreaterThan(0)
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
})

test('an agent that was deleted is listed as such', async () => {
  const store = memory()
  const definition = { title: 'helper', description: '', prompt: '', model: null, tools: [], driver: null }
  await append(store, created('ses_a'))
  for (const agent of ['agent-1', 'agent-2'])
    await append(store, { type: 'agent.created', session: 'ses_a', turn: null, agent, definition })
  await append(store, { type: 'agent.deleted', session: 'ses_a', turn: null, agent: 'agent-2' })
  const listed = await store.lists.agentRows()
  expect(listed.map((row) => [row.created.agent, row.deleted])).toEqual([
    ['agent-1', false],
    ['agent-2', true],
  ])
})

test('a draft shows its last text and its revisions; sent, it is with the receiver that it names then', async () => {
  const store = memory()
  await append(store, created('ses_a'), created('ses_b'), created('ses_c'))
  await append(store, mailed('ses_a', 'ses_b', 'question'))
  const place = { session: 'ses_b', turn: null, message: 'd', inReplyTo: null, act: null } as const
  const to = (session: `ses_${string}`) => ({ kind: 'session', session }) as const
  const drafted: EventOf<'message.drafted'> = {
    type: 'message.drafted',
    ...place,
    target: to('ses_a'),
    source: 'agent',
    text: 'one',
  }
  await append(store, drafted)
  const how = { how: 'written', instructions: null, note: null } as const
  for (const text of ['two', 'three'])
    await append(store, { type: 'message.revised', ...place, target: to('ses_a'), text, ...how })
  const { mail } = store.lists
  expect((await mail.drafts('ses_b', null, 10)).messages).toMatchObject([
    { id: 'd', status: 'draft', text: 'three', initial: 'one', revisions: 2 },
  ])
  expect((await mail.drafts('ses_a', null, 10)).messages).toEqual([])
  // A page that is full may not be the last.
  const pages = [await mail.drafts('ses_b', null, 1), await mail.drafts('ses_b', null, 2)]
  expect(pages.map(({ next }) => next === null)).toEqual([false, true])
  await append(store, mailed('ses_b', 'ses_c', 'd', { text: 'three', inReplyTo: 'question' }))
  expect((await mail.drafts('ses_b', null, 10)).messages).toEqual([])
  const ids = (page: { messages: readonly { id: string }[] }) => page.messages.map(({ id }) => id)
  const all = { replies: null, newest: false, limit: 100 }
  const inbox = async (session: `ses_${string}`) => ids(await mail.inbox(session, all))
  expect([await inbox('ses_a'), await inbox('ses_c')]).toEqual([[], ['d']])
  expect(ids(await mail.thread('question', 0, 10))).toEqual(['question', 'd'])
})

test('a summary that failed leaves the one before it', async () => {
  const store = memory()
  await append(store, ...running('a'))
  await append(store, summarised('ses_a', 'turn_a', 'the first', 2))
  await append(store, { ...summarised('ses_a', 'turn_a', 'broken', 4), ok: false })
  expect(await store.session('ses_a')).toMatchObject({ summary: 'the first', summaryEntries: 2 })
})

test('a day has what steps cost, and once more what a turn paid for a request that was cut off', async () => {
  const store = memory()
  await append(store, ...running('a'))
  const usage = { input: 1, output: 1, estimated: false, cost: { nanoUsd: 30, by: 'reported' as const } }
  await append(store, stepped('ses_a', 'turn_a', usage))
  expect(await store.spentOn(0)).toEqual([{ cwd: '/tmp', nanoUsd: 30 }])
  await append(store, spent('a', 5))
  expect(await store.spentOn(0)).toEqual([{ cwd: '/tmp', nanoUsd: 50 }])
})
