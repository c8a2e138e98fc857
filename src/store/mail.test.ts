/** The view of messages: what lists show of it, and which keys its facts need. */
import { expect, onTestFinished, test } from 'vitest'
import { append, created, mailed, opened, running, sent, started, testClock } from '../../test/kits/store.ts'
import type { Event } from '../model/event.ts'
import { pageUnitsMax } from '../model/limits.ts'
import type { MailPage } from '../runtime/kernel/mail-port.ts'
import { NeedsKeys } from '../runtime/kernel/store-port.ts'
import { sqliteStore, type SqliteStore } from './sqlite.ts'

function memory(): SqliteStore {
  const store = sqliteStore({ directory: ':memory:', now: testClock().now })
  onTestFinished(() => store.close())
  return store
}

const all = { replies: null, newest: false, limit: 100 }
const ids = (messages: readonly { id: string }[]): string[] => messages.map(({ id }) => id)
const accepted = (
  message: string,
  session: `ses_${string}`,
  more: Partial<Extract<Event, { type: 'message.accepted' }>> = {},
): Event => ({
  type: 'message.accepted',
  session,
  turn: null,
  message,
  by: null,
  act: null,
  from: null,
  ...more,
})

test('an inbox is oldest first or newest first, of replies or not, and has no more than was asked for', async () => {
  const store = memory()
  await append(
    store,
    created('ses_a'),
    created('ses_b'),
    mailed('ses_b', 'ses_a', 'msg_1'),
    mailed('ses_b', 'ses_a', 'two', { inReplyTo: 'msg_1' }),
    mailed('ses_b', 'ses_a', 'msg_3'),
    mailed('ses_a', 'ses_b', 'other'),
  )
  const { mail } = store.lists
  expect(ids((await mail.inbox('ses_a', all)).messages)).toEqual(['msg_1', 'two', 'msg_3'])
  expect(ids((await mail.inbox('ses_a', { ...all, newest: true, limit: 2 })).messages)).toEqual([
    'msg_3',
    'two',
  ])
  expect(ids((await mail.inbox('ses_a', { ...all, replies: true })).messages)).toEqual(['two'])
  expect(ids((await mail.inbox('ses_a', { ...all, replies: false })).messages)).toEqual(['msg_1', 'msg_3'])
  expect((await mail.inbox('ses_a', all)).messages.map(({ status }) => status)).toEqual([
    'buffered',
    'ready',
    'buffered',
  ])
  expect(await mail.counts('ses_a')).toMatchObject({
    waiting: 3,
    drafts: 0,
    pending: false,
    session: { id: 'ses_a' },
  })
  expect((await store.lists.listing({ archived: false }, 10)).sessions).toMatchObject([
    { row: { id: 'ses_b' }, buffered: 1 },
    { row: { id: 'ses_a' }, buffered: 3 },
  ])
})

test('a message is found by either spelling of its id, and a user’s own words by their turn', async () => {
  const store = memory()
  await append(store, ...running('a'), mailed('ses_b', 'ses_a', 'msg_1'))
  expect([
    (await store.lists.mail.message('1'))?.id,
    (await store.lists.mail.message('msg_1'))?.id,
    await store.lists.mail.message('2'),
  ]).toEqual(['msg_1', 'msg_1', null])
  expect(await store.lists.mail.message('a')).toMatchObject({
    status: 'delivered',
    text: 'hello',
    from: null,
    owner: 'ses_user',
    to: 'ses_a',
  })
})

test('one that opened a turn is as far as its turn; a turn that never began has declined it', async () => {
  const store = memory()
  const open = (id: string): Event[] => [
    mailed('ses_b', 'ses_a', id),
    accepted(id, 'ses_a'),
    { ...mailed('ses_b', 'ses_a', id), type: 'message.delivered', turn: `turn_${id}`, opens: true },
  ]
  await append(store, created('ses_a'), ...open('m1'))
  const status = async (): Promise<string | undefined> => (await store.lists.mail.message('m1'))?.status
  expect(await status()).toBe('queued')
  await append(store, started('ses_a', 'turn_m1'))
  expect(await status()).toBe('delivered')
  await append(store, ...open('m2'), {
    type: 'turn.ended',
    session: 'ses_a',
    turn: 'turn_m2',
    outcome: 'cancelled',
    output: '',
    error: 'asked',
    tokensUsed: 0,
    tokensBelow: 0,
    iterations: 0,
    toolCalls: [],
    entry: null,
  })
  expect((await store.lists.mail.message('m2'))?.status).toBe('declined')
})

test('a thread has everything above and below a message, and nothing else; a circle ends too', async () => {
  const store = memory()
  const letters = [
    ['a', null],
    ['b', 'a'],
    ['c', 'a'],
    ['d', 'b'],
    ['x', null],
    ['y', 'x'],
  ] as const
  await append(
    store,
    created('ses_a'),
    ...letters.map(([id, above]) => mailed('ses_b', 'ses_a', id, { inReplyTo: above })),
  )
  for (const id of ['a', 'b', 'd'])
    expect(ids((await store.lists.mail.thread(id, 0, 100)).messages)).toEqual(['a', 'b', 'c', 'd'])
  expect(ids((await store.lists.mail.thread('y', 0, 100)).messages)).toEqual(['x', 'y'])
  store.db.exec(`update messages set in_reply_to = 'd' where id = 'a'`)
  expect((await store.lists.mail.thread('b', 0, 100)).messages.length).toBeLessThanOrEqual(4)
})

test('mail for a session that a call made is stranded when the call is over, and not before', async () => {
  const store = memory()
  await append(
    store,
    ...running('a'),
    created('ses_c', 'ephemeral'),
    opened({ from: 'ses_a', in: 'turn_a', call: 'call_c', to: 'ses_c' }),
    mailed('ses_b', 'ses_c', 'm'),
  )
  expect(await store.lists.mail.stranded(10)).toEqual([])
  store.db.exec(`update turns set pending = 0 where id = 'turn_c'`)
  expect(await store.lists.mail.stranded(10)).toEqual(['ses_c'])
  await append(store, {
    type: 'message.died',
    session: 'ses_c',
    turn: null,
    message: 'm',
    from: 'ses_b',
    cause: 'over',
  })
  expect([
    await store.lists.mail.stranded(10),
    ids((await store.lists.mail.dead(null, 10)).messages),
  ]).toEqual([[], ['m']])
})

test('R1: facts about mail are given within their keys only', async () => {
  const store = memory()
  await append(store, created('ses_a'), mailed('ses_b', 'ses_a', 'msg_1'))
  const needed = (
    keys: Parameters<SqliteStore['transact']>[0],
    read: Parameters<SqliteStore['transact']>[1],
  ): Promise<readonly string[]> => {
    const missing: string[] = []
    return store.transact(keys, async (tx) => {
      try {
        await read(tx)
      } catch (error) {
        if (!(error instanceof NeedsKeys)) throw error
        missing.push(...error.keys)
      }
      return missing
    })
  }
  // While it waits it belongs to its inbox: who takes the oldest there has no key of the message itself.
  expect(await needed([], (tx) => tx.message('msg_1'))).toEqual(['session:ses_a'])
  expect(await needed(['message:1'], (tx) => tx.message('1'))).toEqual(['session:ses_a'])
  expect(await needed(['session:ses_a'], (tx) => tx.message('msg_1'))).toEqual([])
  expect(await needed([], (tx) => tx.message('nobody'))).toEqual(['message:nobody'])
  expect(await needed(['message:1'], (tx) => tx.inbox('ses_a', all))).toEqual(['session:ses_a'])
  expect(await needed([], (tx) => tx.mail('ses_a'))).toEqual(['session:ses_a'])
  // A person who accepts what a turn sent renews the age of its flow, which a message of that flow is refused by.
  await append(
    store,
    ...running('c'),
    mailed('ses_c', 'ses_a', 'msg_2', { senderTurn: 'turn_c', flow: 'flow_c' }),
  )
  expect(await needed(['session:ses_a'], (tx) => tx.message('msg_2'))).toEqual(['flow:flow_c'])
  expect(await needed(['session:ses_a', 'flow:flow_c'], (tx) => tx.message('msg_2'))).toEqual([])
  // The turn that it opened says how far it is, and starts under the key of its session.
  await append(store, accepted('1', 'ses_a'), {
    ...mailed('ses_b', 'ses_a', 'msg_1'),
    type: 'message.delivered',
    turn: 'turn_1',
    opens: true,
  })
  expect(await needed(['message:1'], (tx) => tx.message('msg_1'))).toEqual(['session:ses_a'])
  expect(await needed(['session:ses_a'], (tx) => tx.message('msg_1'))).toEqual(['message:1'])
  expect(await needed(['message:1', 'session:ses_a'], (tx) => tx.message('msg_1'))).toEqual([])
  await append(store, started('ses_a', 'turn_1'))
  expect(await needed(['message:1'], (tx) => tx.message('msg_1'))).toEqual([])
})

test('what a message was given of a budget is taken from its sender, whether it opens a turn or waits', async () => {
  const store = memory()
  const grant = { ...sent('ses_b', 'turn_x').grant, tokensMax: 40 }
  await append(
    store,
    ...running('a'),
    created('ses_b'),
    mailed('ses_a', 'ses_b', 'm', { senderTurn: 'turn_a', grant }),
  )
  expect((await store.turn('turn_a'))?.tokensBelow).toBe(40)
  await append(store, accepted('m', 'ses_b'), {
    ...mailed('ses_a', 'ses_b', 'm', { senderTurn: 'turn_a', grant }),
    type: 'message.delivered',
    turn: 'turn_m',
    opens: true,
  })
  expect((await store.turn('turn_a'))?.tokensBelow).toBe(40)
})

/** Every page of a list, with how many units of texts each has. */
async function readPages(
  read: (next: number | null) => Promise<MailPage>,
): Promise<{ names: string[]; units: number[] }> {
  const [names, units]: [string[], number[]] = [[], []]
  for (let at: number | null = null; ;) {
    const { messages, next }: MailPage = await read(at)
    names.push(...ids(messages))
    units.push(messages.reduce((sum, { text, initial }) => sum + text.length + initial.length, 0))
    if (next === null) return { names, units }
    at = next
  }
}

test('R11: a list of long messages ends with what it carries; pages have each message once, in order', async () => {
  const store = memory()
  const text = 'x'.repeat(100_000)
  const names = Array.from({ length: 40 }, (_, n) => `m${n}`)
  await append(store, created('ses_a'), created('ses_b'))
  for (const name of names)
    await append(store, mailed('ses_b', 'ses_a', name, { text, inReplyTo: name === 'm0' ? null : 'm0' }))
  for (const name of names)
    await append(store, {
      type: 'message.drafted',
      session: 'ses_b',
      turn: null,
      message: `d-${name}`,
      target: { kind: 'session', session: 'ses_a' },
      source: 'agent',
      inReplyTo: null,
      text,
      act: null,
    } as Event)
  const { mail } = store.lists
  const lists = {
    inbox: await readPages((after) => mail.inbox('ses_a', { ...all, after })),
    thread: await readPages((after) => mail.thread('m3', after ?? 0, 100)),
    drafts: await readPages((before) => mail.drafts('ses_b', before, 100)),
    'all drafts': await readPages((before) => mail.drafts(null, before, 100)),
  }
  for (const name of names)
    await append(store, {
      type: 'message.died',
      session: 'ses_a',
      turn: null,
      message: name,
      from: 'ses_b',
      cause: 'over',
    })
  const dead = await readPages((before) => mail.dead(before, 100))
  for (const { units } of [...Object.values(lists), dead]) {
    expect(Math.max(...units)).toBeLessThanOrEqual(pageUnitsMax + 200_000)
    expect(units.length).toBeGreaterThan(5)
  }
  expect([lists.inbox.names, lists.thread.names]).toEqual([names, names])
  const newest = names.toReversed()
  expect(dead.names).toEqual(newest)
  const drafts = newest.map((name) => `d-${name}`)
  expect([lists.drafts.names, lists['all drafts'].names]).toEqual([drafts, drafts])
})
