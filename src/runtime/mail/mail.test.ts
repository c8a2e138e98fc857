/** Mail between sessions on virtual time: sending, drafts, replies, and what the rules say. */
import { expect, test } from 'vitest'
import { as, letter, mailWorld, user } from '../../../test/kits/mail.ts'
import type { SessionId } from '../../model/id.ts'

test('mail waits in an inbox and starts nothing; accepted in a turn, it is handed over there, framed', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  const sent = await w.use(a, 'send-message', { session: b, message: 'look at the parser' })
  expect(sent).toEqual({
    id: expect.stringMatching(/^msg_/) as string,
    session: b,
    message: null,
    note: null,
    status: 'buffered',
    draft: false,
    buffered: true,
    error: null,
  })
  expect(await w.exchange.state(b)).toMatchObject({ isActive: false, lastMessage: null })
  expect(await w.exchange.sessionView(b)).toMatchObject({ buffered: 1 })

  const listed = await w.use(b, 'buffer', {})
  expect(listed).toMatchObject({
    total: 1,
    messages: [
      {
        id: sent['id'],
        from: a,
        to: b,
        status: 'buffered',
        buffered: true,
        source: 'agent',
        'in-reply-to': null,
        accepted_at: null,
      },
    ],
  })
  expect(listed['instruction']).toContain('Do not act on the messages now')
  expect((await w.use(b, 'list-session', { dir: '*' }))['sessions']).toContainEqual(
    expect.objectContaining({ id: b, buffered: 1, status: 'streaming', active: true }),
  )

  const turns = (await w.events('turn.started')).length
  const accepted = await w.use(b, 'buffer', { accept: true })
  expect(accepted).toMatchObject({
    accepted: true,
    message: { id: sent['id'], status: 'delivered', accepted_by: null },
  })
  const text = (accepted['message'] as { message: string }).message
  expect(text).toContain(`<peer_message id="${String(sent['id'])}" from="${a}" note=`)
  expect(text).toContain('look at the parser')
  expect(await w.events('turn.started')).toHaveLength(turns + 1)
  expect(await w.use(b, 'buffer', { accept: 'oldest' })).toMatchObject({ accepted: false, message: null })
  expect(await w.exchange.mail.message(as(a), String(sent['id']))).toMatchObject({
    status: 'delivered',
    message: 'look at the parser',
    accepted_at: expect.stringMatching(/^\d{19}$/) as string,
  })
  expect(w.faults).toEqual([])
})

test('accepted by the user it becomes a turn of its receiver, with the authority of its sender', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  const sent = await w.use(a, 'send-message', { session: b, message: 'please build' })
  const [mail] = (await w.events('message.sent')).filter(({ event }) => event.turn === null)
  expect(await w.ok(w.exchange.mail.accept(user, b, 'oldest', null))).toMatchObject({
    accepted: true,
    message: { status: 'delivered', accepted_by: null },
  })
  await w.rested(b)
  expect(w.asked.at(-1)?.prompt).toContain(`<peer_message id="${String(sent['id'])}" from="${a}" note=`)
  expect(await w.exchange.history(b, null, 10)).toMatchObject({
    messages: [
      { source: 'agent', from: a, messageId: sent['id'], text: 'please build' },
      { text: 'did please build', outcome: 'completed' },
    ],
  })
  const [opened] = (await w.events('message.delivered')).filter(({ event }) => event.opens)
  expect(opened?.event).toMatchObject({
    flow: mail?.event.flow,
    grant: { depth: 1, path: [{ session: b, agent: 'coder' }] },
  })
})

test('a reply goes straight to the sender and opens its turn; a third can neither reply nor see', async () => {
  const w = await mailWorld()
  const [a, b, c] = [await w.open('planner'), await w.open('coder'), await w.open('coder')]
  const sent = await w.use(a, 'send-message', { session: b, message: 'how many?' })
  const id = String(sent['id'])
  expect(await w.use(b, 'send-message', { message: 'early', reply: [id] })).toMatchObject({
    id: '',
    error: { code: 'reply_not_addressed' },
  })
  await w.use(b, 'buffer', { accept: true })
  expect(await w.use(c, 'send-message', { message: 'not me', reply: [id] })).toMatchObject({
    error: { code: 'reply_not_addressed' },
  })
  expect(await w.use(b, 'send-message', { message: 'x', reply: ['msg_nothing'] })).toMatchObject({
    error: { code: 'message_unknown' },
  })
  expect(await w.use(b, 'send-message', { message: 'to another', reply: [id], session: c })).toMatchObject({
    error: { code: 'bad_input' },
  })
  const reply = await w.use(b, 'send-message', { message: 'four', reply: id })
  expect(reply).toMatchObject({ session: a, buffered: false })
  await w.rested(a)
  expect(w.asked.at(-1)?.prompt).toContain('four')
  expect(await w.exchange.mail.message(as(a), id)).toMatchObject({ status: 'answered' })
  expect(await w.exchange.mail.message(as(a), String(reply['id']))).toMatchObject({
    status: 'delivered',
    'in-reply-to': id,
  })
  const thread = await w.ok(w.exchange.mail.thread(as(b), String(reply['id']), null))
  expect(thread.messages.map((one) => one.message)).toEqual(['how many?', 'four'])
  expect(await w.exchange.mail.thread(as(c), id, null)).toMatchObject({ code: 'message_not_yours' })
})

test('replying stays where nested calls are not allowed, and writing to others does not', async () => {
  const answers: Record<string, unknown>[] = []
  const w = await mailWorld({
    agents: {
      planner: {
        script: async (turn) => {
          if (turn.task === 'call')
            await turn.tool('sub_agent', { agent_name: 'coder', task: 'work', timeout_seconds: 60 })
          return 'ok'
        },
      },
      coder: {
        script: async (turn) => {
          if (turn.task !== 'work') return 'ok'
          answers.push({ tool: turn.tools.find(({ name }) => name === 'send-message') })
          const [me] = (await w.events('session.created'))
            .filter(({ event }) => event.kind === 'ephemeral')
            .map(({ event }) => event.session)
          await w.ok(
            w.exchange.mail.send(
              as(outside),
              { session: String(me), message: 'a word', id: 'word' },
              null,
              null,
            ),
          )
          await turn.tool('buffer', { accept: 'word' })
          answers.push(
            (await turn.tool('send-message', { message: 'hello', session: String(other) })).value as Record<
              string,
              unknown
            >,
          )
          answers.push(
            (await turn.tool('send-message', { message: 'my answer', reply: ['word'] })).value as Record<
              string,
              unknown
            >,
          )
          return 'done'
        },
      },
    },
  })
  const outside = await w.open('external')
  const other: SessionId = await w.open('coder')
  const planner = await w.open('planner')
  await w.exchange.send(user, letter(planner, 'call'))
  await w.rested(planner)
  expect(answers[0]?.['tool']).toMatchObject({
    description: expect.stringContaining('You may not write to anybody else') as string,
    input: { required: ['message', 'reply'] },
  })
  expect(answers[1]).toMatchObject({ error: { code: 'tool_disabled' } })
  expect(answers[2]).toMatchObject({ session: outside, status: 'ready', error: null })
  expect(await w.exchange.mail.inbox(as(outside), outside, true)).toMatchObject({
    total: 1,
    messages: [{ message: 'my answer', status: 'ready', buffered: false }],
  })
  expect(await w.exchange.mail.inbox(as(outside), outside, false)).toMatchObject({ messages: [] })
})

test('to a new session it is delivered at once, as its child; a unique part of an id is enough', async () => {
  const w = await mailWorld()
  const a = await w.open('planner')
  await w.open('coder', { id: 'alpha-one' })
  await w.open('coder', { id: 'alpha-two' })
  const fresh = await w.use(a, 'send-message', { message: 'start' })
  expect(fresh).toMatchObject({ buffered: false, draft: false })
  await w.rested(fresh['session'] as SessionId)
  expect(await w.exchange.sessionView(fresh['session'] as SessionId)).toMatchObject({
    agent: 'planner',
    parent: a,
  })
  expect(await w.use(a, 'send-message', { session: 'alpha-t', message: 'x' })).toMatchObject({
    session: 'ses_alpha-two',
    status: 'buffered',
  })
  const both = await w.use(a, 'send-message', { session: 'alpha', message: 'x' })
  expect(both).toMatchObject({
    error: {
      code: 'session_ambiguous',
      message: expect.stringMatching(/ses_alpha-\w+, ses_alpha-\w+/) as string,
    },
  })
  expect(await w.use(a, 'send-message', { session: a, message: 'x' })).toMatchObject({
    error: { code: 'self_call' },
  })
  expect(await w.use(a, 'send-message', { session: 'alpha-one', fork: true, message: 'x' })).toMatchObject({
    error: { code: 'bad_input', message: expect.stringContaining('fork') as string },
  })
})

test('the rules of messages hold for mail: rate, age, depth, permission', async () => {
  const w = await mailWorld({ limits: { messagesPerMinute: 3, messageAgeSeconds: 3600 } })
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  const codes = await w.doIn(a, async (turn) => {
    const found: unknown[] = []
    for (let n = 0; n < 4; n += 1)
      found.push(
        (
          (await turn.tool('send-message', { session: b, message: `m${n}` })).value as {
            error: { code: string } | null
          }
        ).error?.code ?? null,
      )
    return found
  })
  expect(codes).toEqual([null, null, null, 'rate_limited'])
  await w.pass(3_700_000)
  // The letter lay for over an hour: whoever accepts it in its own flow could not write on, the user who
  // accepts it can.
  await w.ok(w.exchange.mail.accept(user, b, 'oldest', null))
  await w.rested(b)
  const flow = (await w.events('message.delivered'))[0]?.event.flow as string
  const facts = await w.store.transact([`flow:${flow}`, `session:${a}`], (tx) =>
    tx.send({ senderTurn: null, flow, target: a }),
  )
  expect(w.clock.now() - facts.flowStartedAt).toBeLessThan(60_000)
})
