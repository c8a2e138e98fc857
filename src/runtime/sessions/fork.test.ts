/**
 * Forks share history by reference, and change nothing of what they came from; messages are expanded on one.
 */
import { expect, test } from 'vitest'
import { as, letter, mailWorld, user, type MailWorld } from '../../../test/kits/mail.ts'
import type { SessionId } from '../../model/id.ts'
import { rebuild, viewsEqual } from '../../store/rebuild.ts'
import { forkSession } from './fork.ts'

const texts = async (w: MailWorld, session: SessionId): Promise<string[]> =>
  (await w.ok(w.exchange.history(session, null, 100))).messages.map((entry) => entry.text)

async function told(w: MailWorld, session: SessionId, ...said: string[]): Promise<void> {
  for (const text of said) {
    await w.ok(w.exchange.send(user, letter(session, text)))
    await w.rested(session)
  }
}

test('a fork has the conversation up to where it was made; neither sees what the other says later', async () => {
  const w = await mailWorld()
  const a = await w.open('coder')
  await told(w, a, 'one', 'two')
  const fork = (await w.ok(w.exchange.mail.fork(user, { from: a, back: null, messageId: null }, null))).id
  expect(await texts(w, fork)).toEqual(['one', 'did one', 'two', 'did two'])
  await told(w, a, 'only here')
  await told(w, fork, 'only there')
  expect(await texts(w, a)).toEqual(['one', 'did one', 'two', 'did two', 'only here', 'did only here'])
  expect(await texts(w, fork)).toEqual(['one', 'did one', 'two', 'did two', 'only there', 'did only there'])
  const second = (await w.ok(w.exchange.mail.fork(user, { from: fork, back: 3, messageId: null }, null))).id
  await told(w, second, 'deeper')
  expect(await texts(w, second)).toEqual(['one', 'did one', 'two', 'deeper', 'did deeper'])
  expect(await w.exchange.history(second, 5, 2)).toMatchObject({
    messages: [
      { n: 3, text: 'two' },
      { n: 4, text: 'deeper' },
    ],
    next: 3,
  })
  expect((await w.events('turn.ended')).filter(({ event }) => event.session === a)).toHaveLength(3)
  rebuild(w.store.db)
  expect(viewsEqual(w.store.db)).toEqual({ equal: true, difference: null })
  expect(await texts(w, second)).toEqual(['one', 'did one', 'two', 'deeper', 'did deeper'])
})

test('the turns of a fork are shown what it shares, and searches find it there', async () => {
  const seen: string[][] = []
  const w = await mailWorld({
    agents: {
      coder: {
        script: (turn) => {
          seen.push(turn.history.map((entry) => entry.text))
          return `did ${turn.task}`
        },
      },
    },
  })
  const a = await w.open('coder')
  await told(w, a, 'the walrus sings', 'two')
  const fork = (await w.ok(w.exchange.mail.fork(user, { from: a, back: 1, messageId: null }, null))).id
  await told(w, fork, 'go on')
  expect(seen.at(-1)).toEqual(['the walrus sings', 'did the walrus sings', 'two'])
  const page = await w.store.entries(fork, {
    filter: { keywords: ['walrus'] },
    now: w.clock.now(),
    tokensMax: 1000,
  })
  expect([page.entries.map((entry) => entry.n), page.total, page.dropped['keywords']]).toEqual([[1, 2], 5, 3])
  const aged = await w.store.entries(fork, {
    filter: { max_age_seconds: 0 },
    now: w.clock.now() + 1000,
    tokensMax: 1000,
  })
  expect([aged.entries, aged.dropped['age']]).toEqual([[], 5])
})

test('it is forked after a message or so many back; anything else is refused', async () => {
  const w = await mailWorld()
  const [a, other] = [await w.open('coder'), await w.open('coder')]
  const first = await w.ok(w.exchange.send(user, letter(a, 'one')))
  await w.rested(a)
  await told(w, a, 'two')
  await told(w, other, 'elsewhere')
  const fork = await w.ok(
    w.exchange.mail.fork(user, { from: a, back: null, messageId: first.messageId }, null),
  )
  expect(await texts(w, fork.id)).toEqual(['one'])
  expect(
    await w.exchange.mail.fork(user, { from: other, back: null, messageId: first.messageId }, null),
  ).toMatchObject({ code: 'bad_input', field: 'messageId' })
  expect(await w.exchange.mail.fork(user, { from: a, back: 5, messageId: null }, null)).toMatchObject({
    code: 'bad_input',
    field: 'fork',
    expected: expect.stringContaining('at most 4') as string,
  })
  expect(
    await w.exchange.mail.fork(user, { from: a, back: 1, messageId: first.messageId }, null),
  ).toMatchObject({ code: 'bad_input' })
  expect(
    await w.exchange.mail.fork(user, { from: a, back: null, messageId: 'msg_none' }, null),
  ).toMatchObject({ code: 'message_unknown' })
  const again = await w.ok(w.exchange.mail.fork(user, { from: a, back: null, messageId: null }, 'same'))
  expect(await w.exchange.mail.fork(user, { from: a, back: null, messageId: null }, 'same')).toMatchObject({
    id: again.id,
  })
})

test('an agent writes to a fork of itself, from now or from before; the running turn is not in it', async () => {
  const w = await mailWorld()
  const a = await w.open('coder')
  await told(w, a, 'one', 'two')
  const now = await w.use(a, 'send-message', { fork: true, message: 'try it this way' })
  await w.rested(now['session'] as SessionId)
  expect(await texts(w, now['session'] as SessionId)).toEqual([
    'one',
    'did one',
    'two',
    'did two',
    'try it this way',
    'did try it this way',
  ])
  expect(await w.exchange.sessionView(now['session'] as SessionId)).toMatchObject({
    parent: a,
    agent: 'coder',
  })
  expect(await w.exchange.history(now['session'] as SessionId, null, 2)).toMatchObject({
    messages: [{ source: 'agent', from: a }, {}],
  })
  const before = await w.use(a, 'send-message', { session: 'fork', fork: 4, message: 'go back' })
  await w.rested(before['session'] as SessionId)
  expect((await texts(w, before['session'] as SessionId)).slice(0, 3)).toEqual(['one', 'did one', 'go back'])
  expect(await w.use(a, 'send-message', { fork: 99, message: 'too far' })).toMatchObject({
    error: { code: 'bad_input' },
  })
  const x = await w.open('external')
  expect(await w.exchange.mail.send(as(x), { session: 'fork', message: 'x' }, null, null)).toMatchObject({
    code: 'bad_input',
  })
})

test('a draft for a fork is sent to one that is made when it is sent', async () => {
  const w = await mailWorld()
  const a = await w.open('coder')
  expect(await w.use(a, 'send-message', { fork: 0, message: 'later', id: 'd', draft: true })).toMatchObject({
    session: null,
    status: 'draft',
  })
  await told(w, a, 'meanwhile')
  const sent = await w.use(a, 'send-message', { id: 'd', message: 'later' })
  const made = (sent as { session: SessionId }).session
  expect(sent).toMatchObject({
    id: 'd',
    draft: false,
    session: expect.stringMatching(/^ses_(?!d$)/) as string,
  })
  await w.rested(made)
  expect(await texts(w, made)).toContain('meanwhile')
})

test('a key that forked one session does not fork another', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('coder'), await w.open('coder')]
  const fork = (from: SessionId) => w.exchange.mail.fork(user, { from, back: null, messageId: null }, 'same')
  await w.ok(fork(a))
  expect(await fork(b)).toMatchObject({ code: 'bad_input', field: 'Idempotency-Key' })
})

test('a turn forks only sessions of agents that it may call, and the fork is of its flow', async () => {
  const w = await mailWorld({
    agents: {
      boss: { mayCall: ['coder'], script: async (turn) => (await w.clock.sleep(5000, turn.signal), 'ok') },
      coder: {},
      other: {},
    },
  })
  const [a, b] = [await w.open('coder'), await w.open('other')]
  const sent = await w.ask('boss', 'go').accepted
  await w.rest()
  const [running] = w.node.runtime.running.values()
  if (running === undefined || !('flow' in sent)) throw new Error('nothing runs')
  const fork = (from: SessionId) =>
    forkSession(
      w.node.runtime,
      { kind: 'turn', running },
      { from, back: null, messageId: null, parent: null, id: null },
    )
  expect(await fork(b)).toMatchObject({ code: 'not_allowed' })
  const made = await fork(a)
  const created = (await w.events('session.created')).at(-1)?.event
  expect(created).toMatchObject({ session: 'id' in made ? made.id : '', agent: 'coder', flow: sent.flow })
})
