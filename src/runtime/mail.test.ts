/** Mail between sessions on virtual time: sending, drafts, replies, and what the rules say. */
import { expect, test } from 'vitest'
import { as, letter, mailWorld, user } from '../../test/mail-kit.ts'
import type { AgentSpec } from '../../test/world.ts'
import type { SessionId } from '../model/id.ts'
import type { MessageRecord } from './mail-record.ts'
import { archiveIdle } from './sessions.ts'

test('a message to a session that is there waits in its inbox and starts nothing; accepted in its own turn it is handed over there, framed, with its checked sender', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  const sent = await w.use(a, 'send-message', { session: b, message: 'look at the parser' })
  expect(sent).toEqual({ id: expect.stringMatching(/^msg_/) as string, session: b, status: 'buffered', draft: false, buffered: true, error: null })
  expect(await w.exchange.state(b)).toMatchObject({ isActive: false, lastMessage: null })
  expect(await w.exchange.sessionView(b)).toMatchObject({ buffered: 1 })

  const listed = await w.use(b, 'buffer', {})
  expect(listed).toMatchObject({ total: 1, messages: [{ id: sent['id'], from: a, to: b, status: 'buffered', buffered: true, source: 'agent', 'in-reply-to': null, accepted_at: null }] })
  expect(listed['instruction']).toContain('Do not act on the messages now')
  expect((await w.use(b, 'list-session', { dir: null }))['sessions']).toContainEqual(expect.objectContaining({ id: b, buffered: 1, status: 'streaming', active: true }))

  const turns = (await w.events('turn.started')).length
  const accepted = await w.use(b, 'buffer', { accept: true })
  expect(accepted).toMatchObject({ accepted: true, message: { id: sent['id'], status: 'delivered', accepted_by: null } })
  const text = (accepted['message'] as { message: string }).message
  expect(text).toContain(`<peer_message from="${a}"`)
  expect(text).toContain('look at the parser')
  expect(await w.events('turn.started')).toHaveLength(turns + 1)
  expect(await w.use(b, 'buffer', { accept: 'oldest' })).toMatchObject({ accepted: false, message: null })
  expect(await w.exchange.mail.message(as(a), String(sent['id']))).toMatchObject({ status: 'delivered', message: 'look at the parser', accepted_at: expect.stringMatching(/^\d{19}$/) as string })
  expect(w.faults).toEqual([])
})

test('accepted by the user it becomes a turn of its receiver, in the flow and with the authority of its sender', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  const sent = await w.use(a, 'send-message', { session: b, message: 'please build' })
  const [mail] = (await w.events('message.sent')).filter(({ event }) => event.turn === null)
  expect(await w.ok(w.exchange.mail.accept(user, b, 'oldest', null))).toMatchObject({ accepted: true, message: { status: 'delivered', accepted_by: null } })
  await w.rested(b)
  expect(w.asked.at(-1)?.prompt).toContain(`<peer_message from="${a}"`)
  expect(await w.exchange.history(b, null, 10)).toMatchObject({ messages: [{ source: 'agent', from: a, messageId: sent['id'], text: 'please build' }, { text: 'did please build', outcome: 'completed' }] })
  const [opened] = (await w.events('message.delivered')).filter(({ event }) => event.opens)
  expect(opened?.event).toMatchObject({ flow: mail?.event.flow, grant: { depth: 1, path: [{ session: b, agent: 'coder' }] } })
})

test('a busy session queues what was accepted for it, and the record says so until its turn begins', async () => {
  const w = await mailWorld({ agents: { coder: { script: async (turn) => { await w.clock.sleep(1000, turn.signal); return `did ${turn.task}` } } } })
  const b = await w.open('coder')
  await w.ok(w.exchange.mail.send(user, { session: b, message: 'second', id: 'two' }, null, null))
  await w.exchange.send(user, letter(b, 'first'))
  expect(await w.exchange.mail.accept(user, b, 'two', null)).toMatchObject({ message: { status: 'queued' } })
  await w.rested(b)
  expect(await w.exchange.mail.message(user, 'two')).toMatchObject({ status: 'delivered' })
  expect((await w.events('turn.ended')).map(({ event }) => event.output)).toEqual(['did first', 'did second'])
})

test('accept takes the oldest, the newest, an id, or else a place in the list from 1; what is not there is said', async () => {
  const w = await mailWorld()
  const [b, c] = [await w.open('coder'), await w.open('coder')]
  for (const id of ['one', '2', 'three', 'four', 'five']) await w.ok(w.exchange.mail.send(user, { session: b, message: id, id }, null, null))
  await w.ok(w.exchange.mail.send(user, { session: c, message: 'other', id: 'other' }, null, null))
  const accept = async (which: string | number) => {
    const answer = await w.exchange.mail.accept(user, b, which, null)
    await w.rested(b)
    return 'code' in answer ? answer.code : answer.message?.id
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
  const [one, two] = await w.until(Promise.all([w.exchange.mail.accept(as(child), child, 'm', null), w.exchange.mail.accept(user, child, 'm', null)]))
  expect(one).toMatchObject({ accepted: true })
  expect(two).toEqual({ code: 'message_taken', message: 'm', how: 'accepted', by: child })
  await w.rested(child)
  expect(await w.events('message.accepted')).toHaveLength(1)
  expect(await w.exchange.mail.accept(as(parent), child, 'm', null)).toMatchObject({ code: 'message_taken', by: child })
})

test('an inbox is read and accepted by its session, those above it and the user; others are told no', async () => {
  const w = await mailWorld()
  const root = await w.open('planner')
  const parent = await w.open('planner', { parent: root })
  const child = await w.open('coder', { parent })
  const other = await w.open('coder')
  await w.ok(w.exchange.mail.send(user, { session: child, message: 'x', id: 'm' }, null, null))
  expect(await w.use(other, 'buffer', { session: child })).toMatchObject({ messages: [], error: { code: 'not_allowed' } })
  expect(await w.exchange.mail.accept(as(other), child, 'm', null)).toMatchObject({ code: 'not_allowed' })
  expect(await w.exchange.mail.message(as(other), 'm')).toMatchObject({ code: 'message_not_yours' })
  expect(await w.exchange.mail.decline(as(other), 'm')).toMatchObject({ code: 'message_not_yours' })
  expect(await w.use(root, 'buffer', { session: child })).toMatchObject({ total: 1 })
  expect(await w.use(root, 'buffer', { session: child, accept: true })).toMatchObject({ accepted: true, message: { accepted_by: root }, instruction: `${child} has it now, and works on it.` })
  await w.rested(child)
  expect(w.asked.at(-1)?.prompt).toBe('x')
})

test('a reply goes straight to whoever wrote, opens its turn, and marks what it answers; a third can neither reply nor see', async () => {
  const w = await mailWorld()
  const [a, b, c] = [await w.open('planner'), await w.open('coder'), await w.open('coder')]
  const sent = await w.use(a, 'send-message', { session: b, message: 'how many?' })
  const id = String(sent['id'])
  expect(await w.use(b, 'send-message', { message: 'early', reply: [id] })).toMatchObject({ id: '', error: { code: 'reply_not_addressed' } })
  await w.use(b, 'buffer', { accept: true })
  expect(await w.use(c, 'send-message', { message: 'not me', reply: [id] })).toMatchObject({ error: { code: 'reply_not_addressed' } })
  expect(await w.use(b, 'send-message', { message: 'x', reply: ['msg_nothing'] })).toMatchObject({ error: { code: 'message_unknown' } })
  expect(await w.use(b, 'send-message', { message: 'to another', reply: [id], session: c })).toMatchObject({ error: { code: 'bad_input' } })
  const reply = await w.use(b, 'send-message', { message: 'four', reply: id })
  expect(reply).toMatchObject({ session: a, buffered: false })
  await w.rested(a)
  expect(w.asked.at(-1)?.prompt).toContain('four')
  expect(await w.exchange.mail.message(as(a), id)).toMatchObject({ status: 'answered' })
  expect(await w.exchange.mail.message(as(a), String(reply['id']))).toMatchObject({ status: 'delivered', 'in-reply-to': id })
  const thread = await w.ok(w.exchange.mail.thread(as(b), String(reply['id'])))
  expect(thread.messages.map((one) => one.message)).toEqual(['how many?', 'four'])
  expect(await w.exchange.mail.thread(as(c), id)).toMatchObject({ code: 'message_not_yours' })
})

test('replying stays where nested calls are not allowed, and writing to others does not', async () => {
  const answers: Record<string, unknown>[] = []
  const w = await mailWorld({
    agents: {
      planner: { script: async (turn) => { if (turn.task === 'call') await turn.tool('sub_agent', { agent_name: 'coder', task: 'work', timeout_seconds: 60 }); return 'ok' } },
      coder: {
        script: async (turn) => {
          if (turn.task !== 'work') return 'ok'
          answers.push({ tool: turn.tools.find(({ name }) => name === 'send-message') })
          const [me] = (await w.events('session.created')).filter(({ event }) => event.kind === 'ephemeral').map(({ event }) => event.session)
          await w.ok(w.exchange.mail.send(as(outside), { session: String(me), message: 'a word', id: 'word' }, null, null))
          await turn.tool('buffer', { accept: 'word' })
          answers.push((await turn.tool('send-message', { message: 'hello', session: String(other) })).value as Record<string, unknown>)
          answers.push((await turn.tool('send-message', { message: 'my answer', reply: ['word'] })).value as Record<string, unknown>)
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
  expect(answers[0]?.['tool']).toMatchObject({ description: expect.stringContaining('You may not write to anybody else') as string, input: { required: ['message', 'reply'] } })
  expect(answers[1]).toMatchObject({ error: { code: 'tool_disabled' } })
  expect(answers[2]).toMatchObject({ session: outside, status: 'ready', error: null })
  expect(await w.exchange.mail.inbox(as(outside), outside, true)).toMatchObject({ total: 1, messages: [{ message: 'my answer', status: 'ready', buffered: false }] })
  expect(await w.exchange.mail.inbox(as(outside), outside, false)).toMatchObject({ messages: [] })
})

test('M3: a draft stays with its owner, who alone changes it; each revision is kept; it is sent once', async () => {
  const w = await mailWorld()
  const [a, b, c] = [await w.open('planner'), await w.open('coder'), await w.open('coder')]
  expect(await w.use(a, 'send-message', { session: b, message: 'first', id: 'plan', draft: true })).toMatchObject({ id: 'plan', session: b, status: 'draft', draft: true })
  expect(await w.exchange.mail.inbox(user, b, null)).toMatchObject({ total: 0 })
  expect(await w.use(c, 'send-message', { message: 'mine now', id: 'plan', draft: true })).toMatchObject({ error: { code: 'message_not_yours' } })
  expect(await w.exchange.mail.revise(user, 'plan', 'not mine', null)).toMatchObject({ code: 'message_not_yours' })
  expect(await w.exchange.mail.release(user, 'plan', null, null)).toMatchObject({ code: 'message_not_yours' })
  expect(await w.exchange.mail.message(as(b), 'plan')).toMatchObject({ code: 'message_not_yours' })
  await w.use(a, 'send-message', { message: 'second', id: 'plan', draft: true })
  await w.use(a, 'send-message', { message: 'second', id: 'plan', draft: true })
  await w.use(a, 'send-message', { message: 'third', id: 'plan', draft: true })
  expect((await w.events('message.revised')).map(({ event }) => [event.text, event.how])).toEqual([['second', 'written'], ['third', 'written']])
  expect((await w.ok(w.exchange.mail.drafts(a))).messages).toMatchObject([{ id: 'plan', initial: 'first', message: 'third', to: b }])
  expect(await w.use(a, 'send-message', { message: 'third', id: 'plan' })).toMatchObject({ id: 'plan', session: b, status: 'buffered' })
  expect(await w.use(a, 'send-message', { message: 'third', id: 'plan' })).toMatchObject({ id: 'plan', session: b, status: 'buffered' })
  expect(await w.use(a, 'send-message', { message: 'fourth', id: 'plan', session: b })).toMatchObject({ error: { code: 'message_already_sent' } })
  expect(await w.use(a, 'send-message', { message: 'fourth', id: 'plan', draft: true })).toMatchObject({ error: { code: 'message_already_sent' } })
  expect((await w.events('message.sent')).filter(({ event }) => event.message === 'plan')).toHaveLength(1)
  expect(await w.exchange.mail.message(as(b), 'plan')).toMatchObject({ initial: 'first', message: 'third', status: 'buffered' })
})

test('M5: one id is one message: tried again it has one effect, with another text or from another it is refused', async () => {
  const w = await mailWorld()
  const [a, b, x] = [await w.open('planner'), await w.open('coder'), await w.open('external')]
  await w.use(a, 'send-message', { session: b, message: 'one', id: 'abc' })
  expect(await w.use(a, 'send-message', { session: b, message: 'one', id: 'abc' })).toMatchObject({ status: 'buffered', error: null })
  expect(await w.use(a, 'send-message', { session: b, message: 'two', id: 'abc' })).toMatchObject({ error: { code: 'message_already_sent' } })
  expect(await w.use(a, 'send-message', { session: b, message: 'one', id: 'msg_abc' })).toMatchObject({ id: 'abc', error: null })
  expect(await w.exchange.mail.send(as(x), { session: b, message: 'one', id: 'abc' }, null, null)).toMatchObject({ code: 'message_not_yours' })
  expect(await w.exchange.send(user, letter(b, 'one', { id: 'abc' }))).toMatchObject({ code: 'message_not_yours' })
  expect(await w.use(a, 'send-message', { session: b, message: 'one', id: 'with blanks' })).toMatchObject({ error: { code: 'bad_input' } })
  expect((await w.ok(w.exchange.mail.inbox(user, b, null))).total).toBe(1)
})

test('an act that is tried again has one effect: a send with the same key, an accept with the same key', async () => {
  const w = await mailWorld()
  const [b, x] = [await w.open('coder'), await w.open('external')]
  const first = await w.ok(w.exchange.mail.send(as(x), { session: b, message: 'hi' }, 'key-1', null))
  expect(await w.exchange.mail.send(as(x), { session: b, message: 'hi' }, 'key-1', null)).toEqual(first)
  await w.ok(w.exchange.mail.send(as(x), { session: b, message: 'second' }, null, null))
  const taken = await w.ok(w.exchange.mail.accept(user, b, 'oldest', 'key-2'))
  expect(await w.exchange.mail.accept(user, b, 'oldest', 'key-2')).toMatchObject({ message: { id: taken.message?.id } })
  await w.rested(b)
  expect((await w.ok(w.exchange.mail.inbox(user, b, null))).total).toBe(1)
})

test('to a new session it is delivered at once, as its child; a part of an id is enough, and one that fits two lists them', async () => {
  const w = await mailWorld()
  const a = await w.open('planner')
  await w.open('coder', { id: 'alpha-one' })
  await w.open('coder', { id: 'alpha-two' })
  const fresh = await w.use(a, 'send-message', { message: 'start' })
  expect(fresh).toMatchObject({ buffered: false, draft: false })
  await w.rested(fresh['session'] as SessionId)
  expect(await w.exchange.sessionView(fresh['session'] as SessionId)).toMatchObject({ agent: 'planner', parent: a })
  expect(await w.use(a, 'send-message', { session: 'alpha-t', message: 'x' })).toMatchObject({ session: 'ses_alpha-two', status: 'buffered' })
  const both = await w.use(a, 'send-message', { session: 'alpha', message: 'x' })
  expect(both).toMatchObject({ error: { code: 'session_ambiguous', message: expect.stringMatching(/ses_alpha-\w+, ses_alpha-\w+/) as string } })
  expect(await w.use(a, 'send-message', { session: a, message: 'x' })).toMatchObject({ error: { code: 'self_call' } })
  expect(await w.use(a, 'send-message', { session: 'alpha-one', fork: true, message: 'x' })).toMatchObject({ error: { code: 'bad_input', message: expect.stringContaining('fork') as string } })
})

test('deleting a session makes dead letters of what waits for it, and tells who wrote', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  const sent = await w.use(a, 'send-message', { session: b, message: 'hello?' })
  await w.ok(w.exchange.archive(b))
  expect(await w.exchange.mail.message(as(a), String(sent['id']))).toMatchObject({ status: 'dead' })
  expect((await w.exchange.mail.deadLetters(null)).messages.map((one: MessageRecord) => one.id)).toEqual([sent['id']])
  expect((await w.events('notice.raised')).map(({ event }) => [event.session, event.about])).toEqual([[a, sent['id']]])
  expect(await w.exchange.mail.accept(user, b, String(sent['id']), null)).toMatchObject({ code: 'message_taken', how: 'given up' })
  expect(await w.use(a, 'send-message', { session: b, message: 'again' })).toMatchObject({ error: { code: 'session_unknown' } })
})

test('a child that a call made gets mail while the call is pending; what it left unread dies, found by looking', async () => {
  const w = await mailWorld({
    agents: {
      planner: { script: async (turn) => { await turn.tool('sub_agent', { agent_name: 'coder', task: 'work', timeout_seconds: 60 }); return 'ok' } },
      coder: { script: async (turn) => { await w.clock.sleep(500, turn.signal); return 'done' } },
    },
  })
  const [outside, planner] = [await w.open('external'), await w.open('planner')]
  await w.exchange.send(user, letter(planner, 'go'))
  await w.rest()
  const child = (await w.events('session.created')).find(({ event }) => event.kind === 'ephemeral')?.event.session as SessionId
  expect(await w.exchange.mail.send(as(outside), { session: child, message: 'psst', id: 'psst' }, null, null)).toMatchObject({ status: 'buffered' })
  await w.rested(planner)
  await w.pass(3000)
  expect(await w.exchange.mail.message(as(outside), 'psst')).toMatchObject({ status: 'dead' })
  expect(await w.exchange.mail.send(as(outside), { session: child, message: 'late' }, null, null)).toMatchObject({ code: 'session_unknown' })
})

test('what is declined is not accepted any more, and its sender is told; a queued one that is cancelled counts as declined', async () => {
  const w = await mailWorld({ agents: { coder: { script: async (turn) => { await w.clock.sleep(1000, turn.signal); return 'ok' } } } })
  const [x, b] = [await w.open('external'), await w.open('coder')]
  await w.ok(w.exchange.mail.send(as(x), { session: b, message: 'no thanks', id: 'a' }, null, null))
  await w.ok(w.exchange.mail.send(as(x), { session: b, message: 'later', id: 'b' }, null, null))
  expect(await w.exchange.mail.decline(as(b), 'a')).toMatchObject({ status: 'declined', accepted_by: null })
  expect(await w.exchange.mail.accept(user, b, 'a', null)).toEqual({ code: 'message_taken', message: 'a', how: 'declined', by: b })
  expect((await w.events('notice.raised')).map(({ event }) => event.session)).toEqual([x])
  await w.exchange.send(user, letter(b, 'busy'))
  await w.ok(w.exchange.mail.accept(user, b, 'b', null))
  await w.ok(w.exchange.cancel(b, true, 'asked'))
  await w.rested(b)
  expect(await w.exchange.mail.message(as(x), 'b')).toMatchObject({ status: 'declined' })
})

test('a client outside has an inbox: what agents write to it waits until it is fetched, and opens no turn', async () => {
  const w = await mailWorld()
  const [x, a] = [await w.open('external'), await w.open('planner')]
  expect(await w.use(a, 'send_agent_message', { sessionId: x, message: 'done' })).toMatchObject({ status: 'buffered', sessionId: x })
  expect(await w.use(a, 'send-message', { session: x, message: 'and more' })).toMatchObject({ status: 'buffered' })
  const use = { signal: new AbortController().signal, id: null, trace: null }
  const listed = await w.exchange.useTool(as(x), 'buffer', {}, use)
  expect(listed).toMatchObject({ ok: true, value: { total: 2 } })
  const taken = await w.exchange.useTool(as(x), 'buffer', { accept: 'newest' }, { ...use, id: 'k' })
  expect(taken).toMatchObject({ value: { accepted: true, message: { status: 'delivered' } } })
  expect(await w.exchange.useTool(as(x), 'buffer', { accept: 'newest' }, { ...use, id: 'k' })).toEqual(taken)
  const id = ((taken as { value: unknown }).value as { message: { id: string } }).message.id
  expect(await w.exchange.useTool(as(x), 'send-message', { reply: [id], message: 'thanks' }, use)).toMatchObject({ value: { session: a } })
  await w.rested(a)
  expect(w.asked.at(-1)?.prompt).toContain('thanks')
  expect((await w.events('turn.started')).filter(({ event }) => event.session === x)).toEqual([])
})

test('the user writes mail, keeps drafts, and finds replies in an inbox of their own', async () => {
  const w = await mailWorld()
  const b = await w.open('coder')
  expect(await w.exchange.mail.send(user, { session: b, message: 'draft of mine', id: 'u', draft: true }, null, null)).toMatchObject({ status: 'draft' })
  expect(await w.exchange.mail.revise(user, 'u', 'question of mine', null)).toMatchObject({ message: 'question of mine', initial: 'draft of mine', from: null, source: 'user' })
  expect(await w.exchange.mail.release(user, 'u', null, null)).toMatchObject({ status: 'buffered' })
  expect(await w.exchange.mail.release(user, 'u', null, null)).toMatchObject({ status: 'buffered' })
  const taken = await w.use(b, 'buffer', { accept: true })
  expect((taken['message'] as { message: string }).message).toBe('question of mine')
  expect(await w.use(b, 'send-message', { reply: ['u'], message: 'answer' })).toMatchObject({ session: 'ses_user', status: 'ready' })
  expect(await w.exchange.mail.inbox(user, 'ses_user', null)).toMatchObject({ messages: [{ message: 'answer', 'in-reply-to': 'u' }] })
  const direct = await w.ok(w.exchange.send(user, letter(b, 'said directly')))
  await w.rested(b)
  expect(await w.use(b, 'send-message', { reply: [direct.messageId], message: 'an afterthought' })).toMatchObject({ session: 'ses_user' })
  expect(await w.exchange.mail.message(user, direct.messageId)).toMatchObject({ status: 'answered', message: 'said directly' })
})

test('the rules of messages hold for mail: rate, age, depth, permission; a flow that the user goes on with is young again', async () => {
  const w = await mailWorld({ limits: { messagesPerMinute: 3, messageAgeSeconds: 3600 } })
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  const codes = await w.doIn(a, async (turn) => {
    const found: unknown[] = []
    for (let n = 0; n < 4; n += 1) found.push(((await turn.tool('send-message', { session: b, message: `m${n}` })).value as { error: { code: string } | null }).error?.code ?? null)
    return found
  })
  expect(codes).toEqual([null, null, null, 'rate_limited'])
  await w.pass(3_700_000)
  // The letter lay for over an hour: whoever accepts it in its own flow could not write on, the user who accepts it can.
  await w.ok(w.exchange.mail.accept(user, b, 'oldest', null))
  await w.rested(b)
  const flow = (await w.events('message.delivered'))[0]?.event.flow as string
  const facts = await w.store.transact([`flow:${flow}`, `session:${a}`], (tx) => tx.send({ senderTurn: null, flow, target: a }))
  expect(w.clock.now() - facts.flowStartedAt).toBeLessThan(60_000)
})

test('what was sent survives: waiting mail and drafts keep a spawned session from being put away', async () => {
  const w = await mailWorld({ limits: { archiveAfterHours: 0.01 } })
  const root = await w.open('planner')
  const [quiet, mailed, drafting] = [await w.open('coder', { parent: root }), await w.open('coder', { parent: root }), await w.open('coder', { parent: root })]
  await w.ok(w.exchange.mail.send(user, { session: mailed, message: 'for later', id: 'later' }, null, null))
  await w.use(drafting, 'send-message', { session: root, message: 'hm', draft: true })
  await w.pass(60_000)
  await archiveIdle(w.node.line, w.store.lists)
  const archived = async (id: SessionId) => (await w.ok(w.exchange.sessionView(id))).archived
  expect([await archived(quiet), await archived(mailed), await archived(drafting)]).toEqual([true, false, false])
  // Mail may come between the look and the act.
  await archiveIdle(w.node.line, { ...w.store.lists, restingSince: async () => [mailed, drafting] })
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
  for (const id of ['one', 'two']) await first.ok(first.exchange.mail.send(user, { session: b, message: id, id }, null, null))
  await first.exchange.send(user, letter(b, 'take'))
  await first.pass(100)
  await first.node.stop()
  const second = await mailWorld({ agents: { coder: { script } }, store: first.store, clock: first.clock })
  await second.pass(10_000)
  expect(seen).toEqual(['one', 'one'])
  expect(await second.exchange.mail.inbox(user, b, null)).toMatchObject({ total: 1, messages: [{ id: 'two' }] })
  expect((await second.events('turn.ended')).map(({ event }) => event.outcome)).toEqual(['completed'])
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
  expect([runs, (await second.events('message.sent')).filter(({ event }) => event.turn === null).length]).toEqual([2, 1])
})
