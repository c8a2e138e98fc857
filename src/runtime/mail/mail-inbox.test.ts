/** Inboxes on virtual time: listing, accepting, declining, and letters whose receiver is gone. */
import { expect, test } from 'vitest'
import { as, letter, mailWorld, user } from '../../../test/kits/mail.ts'
import type { AgentSpec } from '../../../test/kits/world.ts'
import type { SessionId } from '../../model/id.ts'
import { archiveIdle } from '../sessions/sessions.ts'
import type { MessageRecord } from '../../wire/mail.ts'
import { isRefusal } from '../../model/refusal.ts'

test('a busy session queues what was accepted for it, and the record says so until its turn begins', async () => {
  const w = await mailWorld({
    agents: {
      coder: {
        script: async (turn) => {
          await w.clock.sleep(1000, turn.signal)
          return `did ${turn.task}`
        },
      },
    },
  })
  const b = await w.open('coder')
  await w.ok(w.exchange.mail.send(user, { session: b, message: 'second', id: 'two' }, null, null))
  await w.exchange.send(user, letter(b, 'first'))
  expect(await w.exchange.mail.accept(user, b, 'two', null)).toMatchObject({ message: { status: 'queued' } })
  await w.rested(b)
  expect(await w.exchange.mail.message(user, 'two')).toMatchObject({ status: 'delivered' })
  expect((await w.events('turn.ended')).map(({ event }) => event.output)).toEqual(['did first', 'did second'])
})

test('accept takes the oldest, the newest, an id, or a place in the list from 1', async () => {
  const w = await mailWorld()
  const [b, c] = [await w.open('coder'), await w.open('coder')]
  for (const id of ['one', '2', 'three', 'four', 'five'])
    await w.ok(w.exchange.mail.send(user, { session: b, message: id, id }, null, null))
  await w.ok(w.exchange.mail.send(user, { session: c, message: 'other', id: 'other' }, null, null))
  const accept = async (which: string | number) => {
    const answer = await w.exchange.mail.accept(user, b, which, null)
    await w.rested(b)
    return isRefusal(answer) ? answer.code : answer.message?.id
  }
  expect(await accept('newest')).toBe('five')
  expect(await accept(2)).toBe('2')
  expect(await accept(2)).toBe('three')
  expect(await accept('four')).toBe('four')
  expect(await accept(7)).toBe('message_unknown')
  expect(await accept('other')).toBe('message_unknown')
  expect(await accept('oldest')).toBe('one')
  expect(await accept('oldest')).toBe(undefined)
})

test('M2: of two that accept one message one wins, and the other learns who it was', async () => {
  const w = await mailWorld()
  const parent = await w.open('planner')
  const child = await w.open('coder', { parent })
  await w.ok(w.exchange.mail.send(user, { session: child, message: 'x', id: 'm' }, null, null))
  const [one, two] = await w.until(
    Promise.all([
      w.exchange.mail.accept(as(child), child, 'm', null),
      w.exchange.mail.accept(user, child, 'm', null),
    ]),
  )
  const [won, lost, winner] = isRefusal(two) ? [one, two, child] : [two, one, 'the user']
  expect(won).toMatchObject({ accepted: true })
  expect(lost).toEqual({ code: 'message_taken', message: 'm', how: 'accepted', by: winner })
  await w.rested(child)
  expect(await w.events('message.accepted')).toHaveLength(1)
  expect(await w.exchange.mail.accept(as(parent), child, 'm', null)).toMatchObject({
    code: 'message_taken',
    by: winner,
  })
})

test('an inbox is read and accepted by its session, those above it and the user; others are told no', async () => {
  const w = await mailWorld()
  const root = await w.open('planner')
  const parent = await w.open('planner', { parent: root })
  const child = await w.open('coder', { parent })
  const other = await w.open('coder')
  await w.ok(w.exchange.mail.send(user, { session: child, message: 'x', id: 'm' }, null, null))
  expect(await w.use(other, 'buffer', { session: child })).toMatchObject({
    messages: [],
    error: { code: 'not_allowed' },
  })
  expect(await w.exchange.mail.accept(as(other), child, 'm', null)).toMatchObject({ code: 'not_allowed' })
  expect(await w.exchange.mail.message(as(other), 'm')).toMatchObject({ code: 'message_not_yours' })
  expect(await w.exchange.mail.decline(as(other), 'm')).toMatchObject({ code: 'message_not_yours' })
  expect(await w.use(root, 'buffer', { session: child })).toMatchObject({ total: 1 })
  expect(await w.use(root, 'buffer', { session: child, accept: true })).toMatchObject({
    accepted: true,
    message: { accepted_by: root },
    instruction: `${child} has it now, and works on it.`,
  })
  await w.rested(child)
  expect(w.asked.at(-1)?.prompt).toBe('x')
})

test('deleting a session makes dead letters of what waits for it, and tells who wrote', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  const sent = await w.use(a, 'send-message', { session: b, message: 'hello?' })
  await w.ok(w.exchange.archive(b))
  expect(await w.exchange.mail.message(as(a), String(sent['id']))).toMatchObject({ status: 'dead' })
  expect((await w.exchange.mail.deadLetters(null)).messages.map((one: MessageRecord) => one.id)).toEqual([
    sent['id'],
  ])
  expect((await w.events('notice.raised')).map(({ event }) => [event.session, event.about])).toEqual([
    [a, sent['id']],
  ])
  expect(await w.exchange.mail.accept(user, b, String(sent['id']), null)).toMatchObject({
    code: 'message_taken',
    how: 'given up',
  })
  expect(await w.use(a, 'send-message', { session: b, message: 'again' })).toMatchObject({
    error: { code: 'session_unknown' },
  })
})

test('a child that a call made gets mail while the call is pending; what it left unread dies', async () => {
  const w = await mailWorld({
    agents: {
      planner: {
        script: async (turn) => {
          await turn.tool('sub_agent', { agent_name: 'coder', task: 'work', timeout_seconds: 60 })
          return 'ok'
        },
      },
      coder: {
        script: async (turn) => {
          await w.clock.sleep(500, turn.signal)
          return 'done'
        },
      },
    },
  })
  const [outside, planner] = [await w.open('external'), await w.open('planner')]
  await w.exchange.send(user, letter(planner, 'go'))
  await w.rest()
  const child = (await w.events('session.created')).find(({ event }) => event.kind === 'ephemeral')?.event
    .session as SessionId
  expect(
    await w.exchange.mail.send(as(outside), { session: child, message: 'psst', id: 'psst' }, null, null),
  ).toMatchObject({ status: 'buffered' })
  await w.rested(planner)
  await w.pass(3000)
  expect(await w.exchange.mail.message(as(outside), 'psst')).toMatchObject({ status: 'dead' })
  expect(
    await w.exchange.mail.send(as(outside), { session: child, message: 'late' }, null, null),
  ).toMatchObject({ code: 'session_unknown' })
})

test('what is declined is not accepted any more, and its sender learns of it', async () => {
  const w = await mailWorld({
    agents: {
      coder: {
        script: async (turn) => {
          await w.clock.sleep(1000, turn.signal)
          return 'ok'
        },
      },
    },
  })
  const [x, b] = [await w.open('external'), await w.open('coder')]
  await w.ok(w.exchange.mail.send(as(x), { session: b, message: 'no thanks', id: 'a' }, null, null))
  await w.ok(w.exchange.mail.send(as(x), { session: b, message: 'later', id: 'b' }, null, null))
  expect(await w.exchange.mail.decline(as(b), 'a')).toMatchObject({ status: 'declined', accepted_by: null })
  expect(await w.exchange.mail.accept(user, b, 'a', null)).toEqual({
    code: 'message_taken',
    message: 'a',
    how: 'declined',
    by: b,
  })
  expect((await w.events('notice.raised')).map(({ event }) => event.session)).toEqual([x])
  await w.exchange.send(user, letter(b, 'busy'))
  await w.ok(w.exchange.mail.accept(user, b, 'b', null))
  await w.ok(w.exchange.cancel(b, true, 'asked'))
  await w.rested(b)
  expect(await w.exchange.mail.message(as(x), 'b')).toMatchObject({ status: 'declined' })
})

test('a client outside has an inbox: mail waits there until it is fetched, and opens no turn', async () => {
  const w = await mailWorld()
  const [x, a] = [await w.open('external'), await w.open('planner')]
  expect(await w.use(a, 'send_agent_message', { sessionId: x, message: 'done' })).toMatchObject({
    status: 'buffered',
    sessionId: x,
  })
  expect(await w.use(a, 'send-message', { session: x, message: 'and more' })).toMatchObject({
    status: 'buffered',
  })
  const use = { signal: new AbortController().signal, id: null, trace: null }
  const listed = await w.exchange.useTool(as(x), 'buffer', {}, use)
  expect(listed).toMatchObject({ ok: true, value: { total: 2 } })
  const taken = await w.exchange.useTool(as(x), 'buffer', { accept: 'newest' }, { ...use, id: 'k' })
  expect(taken).toMatchObject({ value: { accepted: true, message: { status: 'delivered' } } })
  expect(await w.exchange.useTool(as(x), 'buffer', { accept: 'newest' }, { ...use, id: 'k' })).toEqual(taken)
  const id = ((taken as { value: unknown }).value as { message: { id: string } }).message.id
  expect(
    await w.exchange.useTool(as(x), 'send-message', { reply: [id], message: 'thanks' }, use),
  ).toMatchObject({ value: { session: a } })
  await w.rested(a)
  expect(w.asked.at(-1)?.prompt).toContain('thanks')
  expect((await w.events('turn.started')).filter(({ event }) => event.session === x)).toEqual([])
})

test('what was sent survives: waiting mail and drafts keep a spawned session from being put away', async () => {
  const w = await mailWorld({ limits: { archiveAfterHours: 0.01 } })
  const root = await w.open('planner')
  const [quiet, mailed, drafting] = [
    await w.open('coder', { parent: root }),
    await w.open('coder', { parent: root }),
    await w.open('coder', { parent: root }),
  ]
  await w.ok(w.exchange.mail.send(user, { session: mailed, message: 'for later', id: 'later' }, null, null))
  await w.use(drafting, 'send-message', { session: root, message: 'hm', draft: true })
  await w.pass(60_000)
  await archiveIdle(w.node.runtime, w.store.lists)
  const archived = async (id: SessionId) => (await w.ok(w.exchange.sessionView(id))).archived
  expect([await archived(quiet), await archived(mailed), await archived(drafting)]).toEqual([
    true,
    false,
    false,
  ])
  // Mail may come between the look and the act.
  await archiveIdle(w.node.runtime, { ...w.store.lists, restingSince: async () => [mailed, drafting] })
  expect([await archived(mailed), await archived(drafting)]).toEqual([false, false])
  await w.ok(w.exchange.mail.send(user, { session: quiet, message: 'wake up' }, null, null))
  expect(await archived(quiet)).toBe(false)
})

test('M2: a turn that is taken over after it accepted has that message again, and not a second one', async () => {
  const seen: unknown[] = []
  const script: NonNullable<AgentSpec['script']> = async (turn) => {
    if (turn.task !== 'take') return 'ok'
    seen.push(((await turn.tool('buffer', { accept: true })).value as { message: { id: string } }).message.id)
    if (seen.length === 1) await first.clock.sleep(1e9, turn.signal)
    return 'done'
  }
  const first = await mailWorld({ agents: { coder: { script } } })
  const b = await first.open('coder')
  for (const id of ['one', 'two'])
    await first.ok(first.exchange.mail.send(user, { session: b, message: id, id }, null, null))
  await first.exchange.send(user, letter(b, 'take'))
  await first.pass(100)
  await first.node.stop()
  const second = await mailWorld({ agents: { coder: { script } }, store: first.store, clock: first.clock })
  await second.pass(10_000)
  expect(seen).toEqual(['one', 'one'])
  expect(await second.exchange.mail.inbox(user, b, null)).toMatchObject({
    total: 1,
    messages: [{ id: 'two' }],
  })
  expect((await second.events('turn.ended')).map(({ event }) => event.outcome)).toEqual(['completed'])
})
