import { expect, test } from 'vitest'
import { as, letter, mailWorld, user } from '../../../test/kits/mail.ts'
import type { SessionId } from '../../model/id.ts'
import { isRefusal } from '../../model/refusal.ts'

const plan = (read: string | null = null) => ({ id: 'plan', read })

test('M3: a person changes and sends the draft of an idle agent, which it stays from; the log says who', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  await w.use(a, 'send-message', { session: b, message: 'first', id: 'plan', draft: true })
  const turns = (await w.events('turn.started')).length
  expect(await w.exchange.mail.revise(user, plan(), 'second', null)).toMatchObject({
    from: a,
    message: 'second',
    initial: 'first',
    status: 'draft',
    source: 'agent',
  })
  expect(await w.exchange.mail.release(user, plan(), null, null)).toEqual({
    id: 'plan',
    session: b,
    message: null,
    note: null,
    status: 'buffered',
    draft: false,
    buffered: true,
  })
  expect(await w.exchange.mail.release(user, plan(), null, null)).toMatchObject({ status: 'buffered' })
  const [drafted] = await w.events('message.drafted')
  expect((await w.events('message.revised')).map(({ event }) => event)).toMatchObject([
    { session: a, turn: null, text: 'second', revisedBy: 'user', writtenIn: drafted?.event.turn },
  ])
  expect(
    (await w.events('message.sent'))
      .filter(({ event }) => event.message === 'plan')
      .map(({ event }) => event),
  ).toMatchObject([
    { session: b, from: a, source: 'agent', text: 'second', releasedBy: 'user', senderTurn: null },
  ])
  expect((await w.events('turn.started')).length).toBe(turns)
  expect(await w.exchange.state(a)).toMatchObject({ isActive: false })
  await w.ok(w.exchange.mail.accept(user, b, 'plan', null))
  await w.rested(b)
  expect(w.asked.at(-1)?.prompt).toContain('second')
  expect(await w.exchange.history(b, null, 10)).toMatchObject({
    messages: [{ text: 'second', from: a, source: 'agent' }, {}],
  })
})

test('what its owner writes itself is not marked as a person’s', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  await w.use(a, 'send-message', { session: b, message: 'first', id: 'plan', draft: true })
  await w.use(a, 'send-message', { message: 'second', id: 'plan', draft: true })
  await w.use(a, 'send-message', { message: 'second', id: 'plan' })
  for (const { event } of [...(await w.events('message.revised')), ...(await w.events('message.sent'))])
    expect(['revisedBy' in event, 'releasedBy' in event, 'writtenIn' in event]).toEqual([false, false, false])
})

test('a person throws away the draft of an agent, and the agent cannot send it any more', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  await w.use(a, 'send-message', { session: b, message: 'first', id: 'plan', draft: true })
  expect(await w.exchange.mail.decline(user, 'plan')).toMatchObject({ status: 'declined', from: a })
  expect((await w.events('message.declined')).map(({ event }) => event)).toMatchObject([
    { session: a, by: null, message: 'plan' },
  ])
  expect(await w.use(a, 'send-message', { message: 'first', id: 'plan' })).toMatchObject({
    error: { code: 'message_already_sent' },
  })
  expect(await w.exchange.mail.release(user, plan(), null, null)).toMatchObject({ status: 'declined' })
  expect(await w.exchange.mail.inbox(user, b, null)).toMatchObject({ total: 0 })
})

test('a draft that was thrown away while it was being released was said to be sent already', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  await w.use(a, 'send-message', { session: b, message: 'first', id: 'plan', draft: true })
  const transact = w.store.transact.bind(w.store)
  let isFirst = true
  w.store.transact = async (keys, work) => {
    const isNow = isFirst
    isFirst = false
    if (isNow) await w.ok(w.exchange.mail.decline(user, 'plan'))
    return transact(keys, work)
  }
  expect(await w.exchange.mail.release(user, plan(), null, null)).toMatchObject({ status: 'declined' })
  expect(await w.exchange.mail.inbox(user, b, null)).toMatchObject({ total: 0 })
})

test('a person releases while the agent works, and after it was put away', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  await w.doIn(a, async (turn) => {
    await turn.tool('send-message', { session: b, message: 'busy', id: 'busy', draft: true })
    expect(await w.exchange.mail.release(user, { id: 'busy', read: null }, null, null)).toMatchObject({
      status: 'buffered',
    })
    expect((await turn.tool('send-message', { message: 'busy', id: 'busy' })).value).toMatchObject({
      id: 'busy',
      status: 'buffered',
    })
    await turn.tool('send-message', { session: b, message: 'late', id: 'late', draft: true })
    await turn.tool('send-message', { message: 'to a new one', id: 'fresh', draft: true })
  })
  await w.ok(w.exchange.archive(a))
  expect(await w.exchange.mail.release(user, { id: 'late', read: null }, null, null)).toMatchObject({
    status: 'buffered',
    session: b,
  })
  const fresh = await w.ok(w.exchange.mail.release(user, { id: 'fresh', read: null }, null, null))
  await w.rested(fresh.session as SessionId)
  expect(await w.exchange.sessionView(fresh.session as SessionId)).toMatchObject({
    agent: 'planner',
    parent: null,
  })
  expect(await w.exchange.sessionView(a)).toMatchObject({ archived: true, active: false })
})

test('a draft that was changed after a person read it is not released unread, nor overwritten', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  await w.use(a, 'send-message', { session: b, message: 'harmless', id: 'plan', draft: true })
  const { updated_at: read } = await w.ok(w.exchange.mail.message(user, 'plan'))
  await w.use(a, 'send-message', { message: 'something else', id: 'plan', draft: true })
  expect(await w.exchange.mail.release(user, plan(read), null, null)).toEqual({
    code: 'message_changed',
    message: 'plan',
  })
  expect(await w.exchange.mail.revise(user, plan(read), 'mine', null)).toEqual({
    code: 'message_changed',
    message: 'plan',
  })
  const again = await w.ok(w.exchange.mail.message(user, 'plan'))
  expect(await w.exchange.mail.release(user, plan(again.updated_at), null, null)).toMatchObject({
    status: 'buffered',
  })
  expect(await w.exchange.mail.message(user, 'plan')).toMatchObject({ message: 'something else' })
})

test('R7: a released message has the authority and the depth of the turn that wrote it, not a person’s', async () => {
  const w = await mailWorld({
    agents: {
      planner: {
        script: async (turn) => {
          if (turn.task === 'go')
            await turn.tool('sub_agent', {
              agent_name: 'coder',
              task: 'draft it',
              allowed_tools: ['read', 'send-message'],
              allow_nested_calls: true,
              timeout_seconds: 60,
            })
          return 'ok'
        },
      },
      coder: {
        script: async (turn) => {
          if (turn.task === 'draft it')
            await turn.tool('send-message', {
              session: 'ses_target',
              message: 'do it',
              id: 'plan',
              draft: true,
            })
          return 'ok'
        },
      },
    },
  })
  const a = await w.open('planner')
  const target = await w.open('planner', { id: 'target' })
  await w.ok(w.exchange.send(user, letter(a, 'go')))
  await w.rested(a)
  await w.ok(w.exchange.mail.revise(user, plan(), 'do it well', null))
  await w.ok(w.exchange.mail.release(user, plan(), null, null))
  const sent = (await w.events('message.sent')).find(({ event }) => event.message === 'plan')?.event
  expect(sent).toMatchObject({
    session: target,
    text: 'do it well',
    grant: { depth: 2, authority: { tools: ['read', 'send-message'] } },
  })
})

test('a person’s release lifts no rule: an agent that may not write to another does not by a draft', async () => {
  const script = async (turn: {
    task: string
    tool(name: string, input: never): Promise<unknown>
  }): Promise<string> => {
    if (turn.task === 'draft')
      await turn.tool('send-message', {
        session: 'ses_target',
        message: 'do it',
        id: 'plan',
        draft: true,
      } as never)
    return 'ok'
  }
  const w = await mailWorld({ agents: { planner: { script, mayCall: ['planner'] }, coder: {} } })
  const a = await w.open('planner')
  await w.open('coder', { id: 'target' })
  await w.ok(w.exchange.send(user, letter(a, 'draft')))
  await w.rested(a)
  expect(await w.exchange.mail.release(user, plan(), null, null)).toMatchObject({
    code: 'not_allowed',
    what: 'write to coder',
  })
  expect(await w.exchange.mail.message(user, 'plan')).toMatchObject({ status: 'draft' })
})

test('a drafted reply is released too, long after the flow has ended', async () => {
  // Two hours of sweeps, once a second, took longer than a test may on a busy machine.
  const w = await mailWorld({ limits: { messageAgeSeconds: 30 } })
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  const asked = await w.use(a, 'send-message', { session: b, message: 'how many?' })
  await w.use(b, 'buffer', { accept: true })
  await w.use(b, 'send-message', { reply: [String(asked['id'])], message: 'four', id: 'plan', draft: true })
  await w.pass(90_000)
  expect(await w.exchange.mail.release(user, plan(), null, null)).toMatchObject({ session: a })
  await w.rested(a)
  expect(await w.exchange.mail.message(user, String(asked['id']))).toMatchObject({ status: 'answered' })
  expect(w.asked.at(-1)?.prompt).toContain('four')
})

test('all drafts are listed for the person, newest first', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  await w.use(a, 'send-message', { session: b, message: 'one', id: 'one', draft: true })
  await w.use(b, 'send-message', { session: a, message: 'two', id: 'two', draft: true })
  await w.ok(
    w.exchange.mail.send(user, { session: b, message: 'mine', id: 'three', draft: true }, null, null),
  )
  expect((await w.exchange.mail.drafts(null, null)).messages.map(({ id }) => id)).toEqual([
    'three',
    'two',
    'one',
  ])
  expect((await w.exchange.mail.drafts(a, null)).messages.map(({ id }) => id)).toEqual(['one'])
  expect(await w.exchange.mail.release(as(a), { id: 'two', read: null }, null, null)).toHaveProperty('code')
})

test('M3: a change and a release at the same moment: what was changed in time is what is sent', async () => {
  const w = await mailWorld()
  const [own, b] = [await w.open('external'), await w.open('coder')]
  for (let round = 0; round < 60; round += 1) {
    const id = `m${round}`
    await w.ok(w.exchange.mail.send(as(own), { session: b, message: 'old', id, draft: true }, null, null))
    const { updated_at: read } = await w.ok(w.exchange.mail.message(user, id))
    const revising = w.exchange.mail.revise(as(own), { id, read: null }, 'new', null)
    for (let tick = 0; tick < round / 2; tick += 1) await Promise.resolve()
    const [revised, released] = await Promise.all([
      revising,
      w.exchange.mail.release(user, { id, read: round % 2 === 0 ? read : null }, null, null),
    ])
    const known = await w.ok(w.exchange.mail.message(user, id))
    const isTold = round % 2 === 0
    const expected = isRefusal(revised)
      ? ['old', false, 'sent']
      : ['new', isTold, isTold ? 'message_changed' : 'sent']
    expect([known.message, known.draft, isRefusal(released) ? released.code : 'sent']).toEqual(expected)
  }
})

test('two people who change what both have read: one does, and the other is told', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  await w.use(a, 'send-message', { session: b, message: 'first', id: 'plan', draft: true })
  const { updated_at: read } = await w.ok(w.exchange.mail.message(user, 'plan'))
  const both = await Promise.all(
    ['one', 'other'].map((text) => w.exchange.mail.revise(user, plan(read), text, null)),
  )
  expect(both).toMatchObject([
    { message: 'one', status: 'draft' },
    { code: 'message_changed', message: 'plan' },
  ])
  expect(await w.exchange.mail.message(user, 'plan')).toMatchObject({ message: 'one' })
})
