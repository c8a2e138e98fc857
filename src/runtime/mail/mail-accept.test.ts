/** Accepting mail, where something else happens at the same moment. */
import { expect, test } from 'vitest'
import { as, letter, mailWorld, user, type MailWorld } from '../../../test/kits/mail.ts'
import type { SessionId } from '../../model/id.ts'
import { Stopped } from '../kernel/faults.ts'
import type { Running } from '../kernel/running.ts'
import { cancel } from '../turns/ending.ts'
import { releaseMail } from './drafts.ts'
import { acceptMail, buryStranded, declineMail, readInbox, readThread } from './mail-inbox.ts'

/** A session with one message in its inbox, and one turn that runs until its test lets it go. */
async function working(): Promise<{
  w: MailWorld
  running: Running
  accept: () => ReturnType<typeof acceptMail>
}> {
  const w = await mailWorld({
    agents: { coder: { script: async (turn) => (await w.clock.sleep(60_000, turn.signal), 'ok') } },
  })
  const session = await w.open('coder')
  await w.ok(w.exchange.mail.send(user, { session, message: 'x', id: 'm' }, null, null))
  await w.exchange.send(user, letter(session, 'work'))
  await w.rest()
  const [running] = w.node.runtime.running.values()
  if (running === undefined) throw new Error('nothing runs')
  const ask = {
    session: running.session,
    which: { kind: 'oldest' as const },
    replies: null,
    act: null,
  }
  return { w, running, accept: () => acceptMail(w.node.runtime, { session, running, address: null }, ask) }
}

test('a turn that was told to stop takes no mail', async () => {
  const { w, running, accept } = await working()
  await cancel(w.node.runtime, running.row.id, 'cancelled', 'enough')
  await expect(accept()).rejects.toThrow(Stopped)
  expect(await w.exchange.mail.message(user, 'm')).toMatchObject({ status: 'buffered' })
})

test('R10: what a turn did before it took a message is recorded before that', async () => {
  const { w, running, accept } = await working()
  const { session, id: turn } = running.row
  running.buffer.push({
    type: 'step.ended',
    session,
    turn,
    kind: 'tool',
    name: 'look',
    key: 'key',
    input: null,
    ok: true,
    output: 'seen',
    usage: null,
    startedAt: 0,
  })
  expect(await accept()).toEqual({ message: 'm' })
  const [[looked], [accepted]] = [await w.events('step.ended'), await w.events('message.accepted')]
  expect(looked?.event.output).toBe('seen')
  expect(looked?.seq).toBeLessThan(accepted?.seq ?? 0)
})

test('R6: the turn that an accepted message opens counts as starting until it runs', async () => {
  const w = await mailWorld()
  const b = await w.open('coder')
  await w.ok(w.exchange.mail.send(user, { session: b, message: 'x', id: 'm' }, null, null))
  const { runtime } = w.node
  const transact = runtime.store.transact.bind(runtime.store)
  const starting: string[][] = []
  runtime.store.transact = async (keys, work, first) => {
    const done = await transact(keys, work, first)
    starting.push([...runtime.starting.keys()])
    return done
  }
  await w.ok(w.exchange.mail.accept(user, b, 'm', null))
  expect(starting.flat()).toContain('turn_m')
  await w.rested(b)
  expect(runtime.starting.size).toBe(0)
})

test('a message stays in the inbox where the queue of its session is full', async () => {
  const w = await mailWorld({
    agents: { coder: { script: async (turn) => (await w.clock.sleep(1000, turn.signal), 'ok') } },
    limits: { queuedPerSessionMax: 1 },
  })
  const b = await w.open('coder')
  await w.ok(w.exchange.mail.send(user, { session: b, message: 'x', id: 'm' }, null, null))
  for (const text of ['runs', 'waits']) await w.exchange.send(user, letter(b, text))
  const accept = () => w.exchange.mail.accept(user, b, 'm', null)
  expect(await accept()).toMatchObject({ code: 'queue_full', queued: 1, queuedMax: 1 })
  expect(await w.exchange.mail.message(user, 'm')).toMatchObject({ status: 'buffered' })
  await w.rested(b)
  expect(await accept()).toMatchObject({ message: { id: 'm' } })
})

test('what a session was told reaches it with the turn that an accepted message opens', async () => {
  const w = await mailWorld()
  const b = await w.open('coder')
  await w.store.transact([`session:${b}`], async (tx) =>
    tx.append({ type: 'notice.raised', session: b, turn: null, about: 'ses_x', text: 'it broke' }),
  )
  await w.ok(w.exchange.mail.send(user, { session: b, message: 'x', id: 'm' }, null, null))
  await w.ok(w.exchange.mail.accept(user, b, 'm', null))
  await w.rested(b)
  await w.exchange.send(user, letter(b, 'again'))
  await w.rested(b)
  const [delivered, again] = w.asked.map(({ prompt }) => prompt.includes('it broke'))
  expect([delivered, again]).toEqual([true, false])
})

test('R1: mail of a session whose call goes on is not buried by who looked before', async () => {
  const w = await mailWorld({
    agents: {
      boss: {
        script: async (turn) => {
          await turn.tool('sub_agent', { agent_name: 'coder', task: 'x' })
          return 'ok'
        },
      },
      coder: { script: async (turn) => (await w.clock.sleep(5000, turn.signal), 'ok') },
    },
  })
  const run = w.ask('boss', 'go')
  await w.rest()
  const session = (await w.events('call.opened'))[0]?.event.target ?? ('ses_none' as SessionId)
  await w.ok(w.exchange.mail.send(user, { session, message: 'x', id: 'm' }, null, null))
  const { mail } = w.node.runtime.lists
  mail.stranded = async () => [session]
  await buryStranded(w.node.runtime)
  expect(await w.exchange.mail.message(user, 'm')).toMatchObject({ status: 'buffered' })
  await w.until(run)
  await buryStranded(w.node.runtime)
  expect(await w.exchange.mail.message(user, 'm')).toMatchObject({ status: 'dead' })
})

test('only its owner and the user throw a draft away, also when it is gone already', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('external'), await w.open('external')]
  const draft = { session: b, message: 'x', id: 'd', draft: true }
  await w.ok(w.exchange.mail.send(as(a), draft, null, null))
  const decline = (session: SessionId) =>
    declineMail(w.node.runtime, { session, running: null, address: null }, 'd')
  const no = { code: 'message_not_yours', message: 'd' }
  expect(await decline(b)).toEqual(no)
  expect(await decline(a)).toBeNull()
  expect([await decline(a), await decline(b)]).toEqual([null, no])
})

test('mail for an agent that is gone stays, and mail for one that is away is queued', async () => {
  const gone = { known: true, there: false }
  const w = await mailWorld({ isKnown: () => gone.known, isThere: () => gone.there })
  const b = await w.open('coder')
  for (const id of ['m', 'n'])
    await w.ok(w.exchange.mail.send(user, { session: b, message: id, id }, null, null))
  gone.known = false
  expect(await w.exchange.mail.accept(user, b, 'm', null)).toMatchObject({ code: 'agent_unknown' })
  expect(await w.exchange.mail.message(user, 'm')).toMatchObject({ status: 'buffered' })
  gone.known = true
  expect(await w.exchange.mail.accept(user, b, 'n', null)).toMatchObject({ message: { status: 'queued' } })
  expect(await w.events('turn.started')).toEqual([])
})

test('the total of an inbox counts what is on other pages, and a thread has at least the message itself', async () => {
  const w = await mailWorld()
  const b = await w.open('coder')
  for (const id of ['m', 'n', 'o'])
    await w.ok(w.exchange.mail.send(user, { session: b, message: id, id }, null, null))
  const reader = { session: null, running: null, address: null }
  const page = await readInbox(w.node.runtime, reader, b, { replies: null, limit: 1, after: null })
  expect('total' in page ? [page.messages.map(({ id }) => id), page.total] : page).toEqual([['m'], 3])
  const thread = await readThread(w.node.runtime, reader, 'm', 0, 10)
  expect('messages' in thread ? thread.messages.map(({ id }) => id) : thread).toEqual(['m'])
})

test('a key that took from one inbox takes nothing from another', async () => {
  const w = await mailWorld()
  const [b, c] = [await w.open('coder'), await w.open('coder')]
  for (const session of [b, c])
    await w.ok(w.exchange.mail.send(user, { session, message: 'x', id: `to-${session}` }, null, null))
  const accept = (session: SessionId) => w.exchange.mail.accept(user, session, 'oldest', 'key')
  expect(await accept(b)).toMatchObject({ message: { id: `to-${b}` } })
  expect(await accept(b)).toMatchObject({ message: { id: `to-${b}` } })
  expect(await accept(c)).toMatchObject({ code: 'bad_input', field: 'Idempotency-Key' })
  expect(await w.exchange.mail.message(user, `to-${c}`)).toMatchObject({ status: 'buffered' })
})

test('whose draft was sent is told so again; somebody else is told that it is not theirs', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('external'), await w.open('coder')]
  const draft = { session: b, message: 'x', id: 'd', draft: true }
  await w.ok(w.exchange.mail.send(as(a), draft, null, null))
  const release = (session: SessionId) =>
    releaseMail(
      w.node.runtime,
      { sender: { kind: 'client', session }, session: null, act: null, trace: null, cwd: '/' },
      { id: 'd', read: null },
    )
  expect(await release(a)).toMatchObject({ id: 'd', status: 'buffered' })
  expect(await release(a)).toMatchObject({ id: 'd', status: 'buffered' })
  expect(await release(b)).toEqual({ code: 'message_not_yours', message: 'd' })
  expect(await w.events('message.sent')).toHaveLength(1)
})
