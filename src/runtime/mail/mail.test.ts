/** Mail between sessions on virtual time: sending, drafts, replies, and what the rules say. */
import { expect, test } from 'vitest'
import { as, letter, mailWorld, user } from '../../../test/kits/mail.ts'
import type { AgentSpec } from '../../../test/kits/world.ts'
import type { SessionId } from '../../model/id.ts'

test('mail waits in an inbox and starts nothing; accepted in a turn, it is handed over there, framed', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  const sent = await w.use(a, 'send-message', { session: b, message: 'look at the parser' })
  expect(sent).toEqual({
    id: expect.stringMatching(/^msg_/) as string,
    session: b,
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
  expect((await w.use(b, 'list-session', { dir: null }))['sessions']).toContainEqual(
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

test('M3: a draft stays with its owner, who alone changes it; each revision is kept; it is sent once', async () => {
  const w = await mailWorld()
  const [a, b, c] = [await w.open('planner'), await w.open('coder'), await w.open('coder')]
  expect(
    await w.use(a, 'send-message', { session: b, message: 'first', id: 'plan', draft: true }),
  ).toMatchObject({ id: 'plan', session: b, status: 'draft', draft: true })
  expect(await w.exchange.mail.inbox(user, b, null)).toMatchObject({ total: 0 })
  expect(await w.use(c, 'send-message', { message: 'mine now', id: 'plan', draft: true })).toMatchObject({
    error: { code: 'message_not_yours' },
  })
  await w.doIn(c, async () => {
    expect(await w.exchange.mail.revise(as(c), { id: 'plan', read: null }, 'not mine', null)).toMatchObject({
      code: 'message_not_yours',
    })
    expect(await w.exchange.mail.release(as(c), { id: 'plan', read: null }, null, null)).toMatchObject({
      code: 'message_not_yours',
    })
    expect(await w.exchange.mail.decline(as(c), 'plan')).toMatchObject({ code: 'message_not_yours' })
  })
  expect(await w.exchange.mail.message(as(b), 'plan')).toMatchObject({ code: 'message_not_yours' })
  await w.use(a, 'send-message', { message: 'second', id: 'plan', draft: true })
  await w.use(a, 'send-message', { message: 'second', id: 'plan', draft: true })
  await w.use(a, 'send-message', { message: 'third', id: 'plan', draft: true })
  expect((await w.events('message.revised')).map(({ event }) => [event.text, event.how])).toEqual([
    ['second', 'written'],
    ['third', 'written'],
  ])
  expect((await w.ok(w.exchange.mail.drafts(a, null))).messages).toMatchObject([
    { id: 'plan', initial: 'first', message: 'third', to: b },
  ])
  expect(await w.use(a, 'send-message', { message: 'third', id: 'plan' })).toMatchObject({
    id: 'plan',
    session: b,
    status: 'buffered',
  })
  expect(await w.use(a, 'send-message', { message: 'third', id: 'plan' })).toMatchObject({
    id: 'plan',
    session: b,
    status: 'buffered',
  })
  expect(await w.use(a, 'send-message', { message: 'fourth', id: 'plan', session: b })).toMatchObject({
    error: { code: 'message_already_sent' },
  })
  expect(await w.use(a, 'send-message', { message: 'fourth', id: 'plan', draft: true })).toMatchObject({
    error: { code: 'message_already_sent' },
  })
  expect((await w.events('message.sent')).filter(({ event }) => event.message === 'plan')).toHaveLength(1)
  expect(await w.exchange.mail.message(as(b), 'plan')).toMatchObject({
    initial: 'first',
    message: 'third',
    status: 'buffered',
  })
})

test('M5: one id is one message: a retry has one effect, another text or sender is refused', async () => {
  const w = await mailWorld()
  const [a, b, x] = [await w.open('planner'), await w.open('coder'), await w.open('external')]
  await w.use(a, 'send-message', { session: b, message: 'one', id: 'abc' })
  expect(await w.use(a, 'send-message', { session: b, message: 'one', id: 'abc' })).toMatchObject({
    status: 'buffered',
    error: null,
  })
  expect(await w.use(a, 'send-message', { session: b, message: 'two', id: 'abc' })).toMatchObject({
    error: { code: 'message_already_sent' },
  })
  expect(await w.use(a, 'send-message', { session: b, message: 'one', id: 'msg_abc' })).toMatchObject({
    id: 'abc',
    error: null,
  })
  expect(
    await w.exchange.mail.send(as(x), { session: b, message: 'one', id: 'abc' }, null, null),
  ).toMatchObject({ code: 'message_not_yours' })
  expect(await w.exchange.send(user, letter(b, 'one', { id: 'abc' }))).toMatchObject({
    code: 'message_not_yours',
  })
  expect(await w.use(a, 'send-message', { session: b, message: 'one', id: 'with blanks' })).toMatchObject({
    error: { code: 'bad_input' },
  })
  expect((await w.ok(w.exchange.mail.inbox(user, b, null))).total).toBe(1)
})

test('an act that is tried again has one effect: a send with the same key, an accept with the same key', async () => {
  const w = await mailWorld()
  const [b, x] = [await w.open('coder'), await w.open('external')]
  const first = await w.ok(w.exchange.mail.send(as(x), { session: b, message: 'hi' }, 'key-1', null))
  expect(await w.exchange.mail.send(as(x), { session: b, message: 'hi' }, 'key-1', null)).toEqual(first)
  await w.ok(w.exchange.mail.send(as(x), { session: b, message: 'second' }, null, null))
  const taken = await w.ok(w.exchange.mail.accept(user, b, 'oldest', 'key-2'))
  expect(await w.exchange.mail.accept(user, b, 'oldest', 'key-2')).toMatchObject({
    message: { id: taken.message?.id },
  })
  await w.rested(b)
  expect((await w.ok(w.exchange.mail.inbox(user, b, null))).total).toBe(1)
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

test('the user writes mail, keeps drafts, and finds replies in an inbox of their own', async () => {
  const w = await mailWorld()
  const b = await w.open('coder')
  expect(
    await w.exchange.mail.send(
      user,
      { session: b, message: 'draft of mine', id: 'u', draft: true },
      null,
      null,
    ),
  ).toMatchObject({ status: 'draft' })
  expect(await w.exchange.mail.revise(user, { id: 'u', read: null }, 'question of mine', null)).toMatchObject(
    { message: 'question of mine', initial: 'draft of mine', from: null, source: 'user' },
  )
  expect(await w.exchange.mail.release(user, { id: 'u', read: null }, null, null)).toMatchObject({
    status: 'buffered',
  })
  expect(await w.exchange.mail.release(user, { id: 'u', read: null }, null, null)).toMatchObject({
    status: 'buffered',
  })
  const taken = await w.use(b, 'buffer', { accept: true })
  expect((taken['message'] as { message: string }).message).toBe('question of mine')
  expect(await w.use(b, 'send-message', { reply: ['u'], message: 'answer' })).toMatchObject({
    session: 'ses_user',
    status: 'ready',
  })
  expect(await w.exchange.mail.inbox(user, 'ses_user', null)).toMatchObject({
    messages: [{ message: 'answer', 'in-reply-to': 'u' }],
  })
  const direct = await w.ok(w.exchange.send(user, letter(b, 'said directly')))
  await w.rested(b)
  expect(
    await w.use(b, 'send-message', { reply: [direct.messageId], message: 'an afterthought' }),
  ).toMatchObject({ session: 'ses_user' })
  expect(await w.exchange.mail.message(user, direct.messageId)).toMatchObject({
    status: 'answered',
    message: 'said directly',
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

test('M5: a turn that is taken over after it sent has sent once', async () => {
  let runs = 0
  const script: NonNullable<AgentSpec['script']> = async (turn) => {
    if (turn.task !== 'write') return 'ok'
    await turn.tool('send-message', { session: b, message: 'hello' })
    runs += 1
    if (runs === 1) await first.clock.sleep(1e9, turn.signal)
    return 'done'
  }
  const first = await mailWorld({ agents: { coder: { script } } })
  const a = await first.open('coder')
  const b: SessionId = await first.open('coder')
  await first.exchange.send(user, letter(a, 'write'))
  await first.pass(100)
  await first.node.stop()
  const second = await mailWorld({ agents: { coder: { script } }, store: first.store, clock: first.clock })
  await second.pass(10_000)
  expect([
    runs,
    (await second.events('message.sent')).filter(({ event }) => event.turn === null).length,
  ]).toEqual([2, 1])
})
