/** Mail over HTTP: every route, who may use it, and what a retry does. */
import { describe, expect, test } from 'vitest'
import { tielineClient } from '../../src/client/client.ts'
import { mintSessionToken } from '../../src/server/identity.ts'
import { serve, until, type Served } from '../kits/http.ts'

const tokenOf = (served: Served, session: `ses_${string}`): Record<string, string> => ({
  authorization: `Bearer ${mintSessionToken(served.secret, session)}`,
})

const idle = (served: Served, session: string) =>
  until(
    async () => (await served.get(`/api/sessions/${session}/state`)).body.isActive === false,
    `${session} rests`,
  )

test('a message waits, is listed, accepted, and becomes a turn; what became of it can be asked', async () => {
  const served = await serve()
  const { post, get, open } = served
  const [own, target] = [await open('external'), await open('echo')]
  const sent = await post('/api/messages', { from: own, session: target.slice(4), message: 'hello' })
  expect([sent.status, sent.body]).toEqual([
    202,
    {
      id: expect.stringMatching(/^msg_/) as string,
      session: target,
      status: 'buffered',
      draft: false,
      buffered: true,
      message: null,
      note: null,
    },
  ])
  const inbox = await get(`/api/sessions/${target}/inbox`)
  expect(inbox.body).toMatchObject({
    total: 1,
    messages: [
      {
        id: sent.body.id,
        from: own,
        to: target,
        'in-reply-to': null,
        draft: false,
        buffered: true,
        accepted_at: null,
        accepted_by: null,
        initial: 'hello',
        message: 'hello',
        source: 'agent',
        status: 'buffered',
      },
    ],
  })
  expect((await get(`/api/sessions?dir=/tmp`)).body.sessions).toContainEqual(
    expect.objectContaining({ id: target, buffered: 1 }),
  )
  const accepted = await post(`/api/sessions/${target}/accept`, { which: 'oldest' })
  expect([accepted.status, accepted.body]).toMatchObject([
    200,
    {
      accepted: true,
      message: { id: sent.body.id, accepted_at: expect.stringMatching(/^\d{19}$/) as string },
    },
  ])
  await idle(served, target)
  expect((await get(`/api/sessions/${target}/messages`)).body.messages).toMatchObject([
    { source: 'agent', from: own, text: 'hello' },
    { text: 'echo: hello' },
  ])
  expect((await get(`/api/messages/${sent.body.id}`)).body).toMatchObject({ status: 'delivered' })
  expect((await post(`/api/sessions/${target}/accept`)).body).toEqual({
    message: null,
    accepted: false,
    released: false,
  })
  const second = await post(`/api/sessions/${target}/accept`, { which: sent.body.id })
  expect([second.status, second.body.error]).toMatchObject([
    409,
    { code: 'message_taken', details: { by: 'the user' } },
  ])
})

test('delivery "buffer" of a message does the same', async () => {
  const { post, get, open } = await serve()
  const target = await open('echo')
  const sent = await post(`/api/sessions/${target}/messages`, { message: 'later', delivery: 'buffer' })
  expect([sent.status, sent.body]).toMatchObject([202, { status: 'buffered', turn: null, sessionId: target }])
  expect((await get(`/api/sessions/${target}/inbox`)).body.messages).toMatchObject([
    { id: sent.body.messageId, from: null, source: 'user' },
  ])
  expect((await get(`/api/sessions/${target}/messages`)).body.messages).toEqual([])
})

describe('who may', () => {
  test('a session sees its own inbox and those below; its drafts are changed by nobody else', async () => {
    const served = await serve()
    const { post, get, ask, open } = served
    const parent = await open('external')
    const [child, other] = [await open('echo', { parent }), await open('external')]
    await post('/api/messages', { session: child, message: 'x', id: 'm' })
    expect((await get(`/api/sessions/${child}/inbox`, tokenOf(served, parent))).body.total).toBe(1)
    expect((await get(`/api/sessions/${child}/inbox`, tokenOf(served, other))).status).toBe(403)
    expect((await post(`/api/sessions/${child}/accept`, {}, tokenOf(served, other))).status).toBe(403)
    expect((await get('/api/messages/m', tokenOf(served, other))).body.error.code).toBe('message_not_yours')
    expect((await post('/api/messages/m/decline', {}, tokenOf(served, other))).status).toBe(403)
    await post(
      '/api/messages',
      { session: child, message: 'mine', id: 'd', draft: true },
      tokenOf(served, other),
    )
    expect((await get('/api/messages/d', tokenOf(served, parent))).status).toBe(403)
    for (const [method, path] of [
      ['PATCH', '/api/messages/d'],
      ['POST', '/api/messages/d/release'],
      ['POST', '/api/messages/d/decline'],
    ] as const) {
      expect([
        path,
        (await ask(method, path, method === 'PATCH' ? { message: 'yours' } : {}, tokenOf(served, parent)))
          .body.error.code,
      ]).toEqual([path, 'message_not_yours'])
    }
    expect(
      (await ask('PATCH', '/api/messages/d', { message: 'still mine' }, tokenOf(served, other))).body,
    ).toMatchObject({ message: 'still mine', from: other })
    expect((await post('/api/messages/d/release', {}, tokenOf(served, other))).body).toMatchObject({
      status: 'buffered',
    })
  })

  test('nobody can name somebody else: an idle agent does not write, and a token speaks for itself', async () => {
    const served = await serve()
    const [idleOne, own, target] = [
      await served.open('echo'),
      await served.open('external'),
      await served.open('echo'),
    ]
    expect(
      (await served.post('/api/messages', { from: idleOne, session: target, message: 'x' })).status,
    ).toBe(403)
    expect(
      (
        await served.post(
          '/api/messages',
          { from: target, session: idleOne, message: 'x' },
          tokenOf(served, own),
        )
      ).status,
    ).toBe(403)
    expect(
      (await served.post('/api/messages', { from: own, session: own, message: 'x' })).body.error.code,
    ).toBe('self_call')
  })

  test('with tokens the user’s token is nobody’s session', async () => {
    const served = await serve({ auth: 'tokens', token: 'the-token' })
    const [own, target] = [await served.open('external'), await served.open('echo')]
    const asUser = { authorization: 'Bearer the-token' }
    expect(
      (await served.post('/api/messages', { from: own, session: target, message: 'x' }, asUser)).status,
    ).toBe(403)
    await served.post(
      '/api/messages',
      { session: target, message: 'x', id: 'd', draft: true },
      tokenOf(served, own),
    )
    expect((await served.ask('PATCH', '/api/messages/d', { message: 'y', from: own }, asUser)).status).toBe(
      403,
    )
    expect((await served.ask('PATCH', '/api/messages/d', { message: 'y' }, asUser)).body).toMatchObject({
      from: own,
      message: 'y',
    })
    expect((await served.get('/api/messages/d', asUser)).body.status).toBe('draft')
    expect((await served.get('/api/dead-letters')).status).toBe(401)
  })
})

test('a reply reaches its writer, and the thread shows both; an unknown one or a stranger’s is refused', async () => {
  const served = await serve()
  const { post, get, open } = served
  const [one, two] = [await open('external'), await open('external')]
  const sent = await post('/api/messages', { from: one, session: two, message: 'how many?' })
  expect(
    (await post('/api/messages', { from: two, message: 'early', reply: [sent.body.id] })).body.error.code,
  ).toBe('reply_not_addressed')
  await post(`/api/sessions/${two}/accept`, {}, tokenOf(served, two))
  const reply = await post('/api/messages', { from: two, message: 'four', reply: [sent.body.id] })
  expect(reply.body).toMatchObject({ session: one, status: 'ready', buffered: false })
  expect((await get(`/api/messages/${sent.body.id}`)).body.status).toBe('answered')
  expect(
    (await get(`/api/messages/${reply.body.id}/thread`)).body.messages.map(
      (message: { message: string }) => message.message,
    ),
  ).toEqual(['how many?', 'four'])
  expect((await get(`/api/sessions/${one}/inbox?replies=true`)).body.messages).toMatchObject([
    { message: 'four', 'in-reply-to': sent.body.id },
  ])
  expect((await get(`/api/sessions/${one}/inbox?replies=false`)).body.messages).toEqual([])
  expect((await post('/api/messages', { from: one, message: 'x', reply: ['nothing'] })).status).toBe(404)
  expect((await post('/api/messages', { from: two, message: 'x', reply: ['a', 'b'] })).status).toBe(400)
})

test('declined and dead letters say so, and are listed', async () => {
  const { post, get, ask, open } = await serve()
  const [own, target] = [await open('external'), await open('echo')]
  for (const id of ['a', 'b']) await post('/api/messages', { from: own, session: target, message: id, id })
  expect((await post('/api/messages/a/decline')).body).toMatchObject({ status: 'declined' })
  expect((await post('/api/messages/a/decline')).body).toMatchObject({ status: 'declined' })
  expect((await post('/api/messages/a/decline', { from: own })).body.error.code).toBe('message_not_yours')
  await ask('DELETE', `/api/sessions/${target}`)
  expect((await get('/api/messages/b')).body.status).toBe('dead')
  expect((await get('/api/dead-letters')).body).toMatchObject({ messages: [{ id: 'b' }], next: null })
  expect((await post('/api/messages', { from: own, session: target, message: 'gone' })).body.error.code).toBe(
    'session_unknown',
  )
})

test('a part of an id that fits two sessions lists the candidates', async () => {
  const { post, open } = await serve()
  await open('echo', { id: 'alpha-one' })
  await open('echo', { id: 'alpha-two' })
  const answer = await post('/api/messages', { session: 'alpha', message: 'x' })
  expect([answer.status, answer.body.error.code, answer.body.error.details.candidates.toSorted()]).toEqual([
    409,
    'session_ambiguous',
    ['ses_alpha-one', 'ses_alpha-two'],
  ])
})

test('a fork shares what was said, from now, from before or up to a message', async () => {
  const served = await serve()
  const { post, get, open } = served
  const target = await open('echo')
  const first = await post(`/api/sessions/${target}/messages`, { message: 'one' })
  await idle(served, target)
  await post(`/api/sessions/${target}/messages`, { message: 'two' })
  await idle(served, target)
  const texts = async (id: string) =>
    (await get(`/api/sessions/${id}/messages`)).body.messages.map((message: { text: string }) => message.text)
  const whole = await post(`/api/sessions/${target}/fork`)
  expect([whole.status, await texts(whole.body.sessionId)]).toEqual([
    201,
    ['one', 'echo: one', 'two', 'echo: two'],
  ])
  expect(await texts((await post(`/api/sessions/${target}/fork`, { back: 2 })).body.sessionId)).toEqual([
    'one',
    'echo: one',
  ])
  expect(
    await texts(
      (await post(`/api/sessions/${target}/fork`, { messageId: first.body.messageId })).body.sessionId,
    ),
  ).toEqual(['one'])
  expect((await post(`/api/sessions/${target}/fork`, { back: 9 })).body.error).toMatchObject({
    code: 'bad_input',
    field: 'fork',
  })
  const same = { 'idempotency-key': 'f' }
  expect((await post(`/api/sessions/${target}/fork`, {}, same)).body.sessionId).toBe(
    (await post(`/api/sessions/${target}/fork`, {}, same)).body.sessionId,
  )
  await post(`/api/sessions/${whole.body.sessionId}/messages`, { message: 'there' })
  await idle(served, whole.body.sessionId)
  expect(await texts(target)).toEqual(['one', 'echo: one', 'two', 'echo: two'])
})

test('the client has every route', async () => {
  const served = await serve()
  const client = tielineClient({ url: served.url })
  const [own, target] = [await served.open('external'), await served.open('external')]
  const sent = await client.mail.send({ from: own, session: target, message: 'one', draft: true })
  expect(await client.mail.revise(sent.id, 'two')).toMatchObject({ message: 'two' })
  expect(await client.mail.release(sent.id)).toMatchObject({ status: 'buffered' })
  expect((await client.mail.inbox(target)).messages).toMatchObject([{ id: sent.id }])
  expect(await client.mail.accept(target, 1)).toMatchObject({
    released: true,
    message: { id: sent.id, status: 'ready' },
  })
  const more = await client.mail.send({ from: own, session: target, message: 'no' })
  expect(await client.mail.decline(more.id)).toMatchObject({ status: 'declined' })
  expect(await client.mail.get(more.id)).toMatchObject({ status: 'declined' })
  expect(await client.mail.deadLetters()).toMatchObject({ messages: [] })
  expect(await client.sessions.fork(await served.open('echo'), {})).toMatchObject({ agent: 'echo' })
})
