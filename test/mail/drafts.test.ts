/** Drafts over HTTP: written, revised, released and thrown away. */
import { describe, expect, test } from 'vitest'
import { mintSessionToken } from '../../src/server/identity.ts'
import { serve, type Served } from '../kits/http.ts'

const tokenOf = (served: Served, session: `ses_${string}`): Record<string, string> => ({
  authorization: `Bearer ${mintSessionToken(served.secret, session)}`,
})

test('a draft is written, revised twice, and sent once; its text is kept as it was first', async () => {
  const { post, get, ask, open } = await serve()
  const target = await open('echo')
  expect([
    (await post('/api/messages', { session: target, message: 'one', id: 'plan', draft: true })).status,
    (await get(`/api/sessions/${target}/inbox`)).body.total,
  ]).toEqual([201, 0])
  expect((await ask('PATCH', '/api/messages/plan', { message: 'two' })).body).toMatchObject({
    message: 'two',
    initial: 'one',
    draft: true,
  })
  expect((await ask('PATCH', '/api/messages/plan', { message: 'three' })).body).toMatchObject({
    message: 'three',
    initial: 'one',
  })
  expect((await get('/api/sessions/ses_user/drafts')).body.messages).toMatchObject([{ id: 'plan' }])
  for (let tries = 0; tries < 2; tries += 1)
    expect((await post('/api/messages/plan/release')).body).toEqual({
      id: 'plan',
      session: target,
      status: 'buffered',
      draft: false,
      buffered: true,
      message: null,
      note: null,
    })
  expect((await get(`/api/sessions/${target}/inbox`)).body).toMatchObject({
    total: 1,
    messages: [{ id: 'plan', initial: 'one', message: 'three' }],
  })
  const late = await ask('PATCH', '/api/messages/plan', { message: 'four' })
  expect([late.status, late.body.error.code]).toEqual([409, 'message_already_sent'])
  expect((await ask('PATCH', '/api/messages/nothing', { message: 'x' })).body.error.code).toBe(
    'message_unknown',
  )
})

describe('drafts of agents and the user', () => {
  const patch = (served: Served, body: object, headers: Record<string, string> = {}) =>
    served.ask('PATCH', '/api/messages/d', body, headers)

  test('the user lists, changes, releases and throws away what any session has drafted; no session does', async () => {
    const served = await serve({ auth: 'tokens', token: 'the-token' })
    const [own, other, target] = [
      await served.open('external'),
      await served.open('external'),
      await served.open('echo'),
    ]
    const asUser = { authorization: 'Bearer the-token' }
    const draft = (id: string) =>
      served.post(
        '/api/messages',
        { session: target, message: 'first', id, draft: true },
        tokenOf(served, own),
      )
    await draft('d')
    expect((await served.get('/api/drafts', asUser)).body).toMatchObject({
      messages: [{ id: 'd', from: own }],
      next: null,
    })
    for (const headers of [tokenOf(served, own), tokenOf(served, other)])
      expect((await served.get('/api/drafts', headers)).status).toBe(403)
    for (const path of ['release', 'decline'])
      expect((await served.post(`/api/messages/d/${path}`, {}, tokenOf(served, other))).body.error.code).toBe(
        'message_not_yours',
      )
    const changed = await patch(served, { message: 'second' }, asUser)
    expect([changed.status, changed.body]).toMatchObject([
      200,
      { from: own, message: 'second', source: 'agent' },
    ])
    await patch(served, { message: 'third' }, tokenOf(served, own))
    const stale = await served.post(
      '/api/messages/d/release',
      { ifUpdatedAt: changed.body.updated_at },
      asUser,
    )
    expect([stale.status, stale.body.error.code]).toEqual([409, 'message_changed'])
    expect(
      (await patch(served, { message: 'mine', ifUpdatedAt: changed.body.updated_at }, asUser)).body.error
        .code,
    ).toBe('message_changed')
    expect((await served.post('/api/messages/d/release', {}, asUser)).body).toMatchObject({
      session: target,
      status: 'buffered',
    })
    expect((await served.get(`/api/sessions/${target}/inbox`, asUser)).body.messages).toMatchObject([
      { id: 'd', from: own, message: 'third' },
    ])
    await draft('e')
    expect((await served.post('/api/messages/e/decline', {}, asUser)).body).toMatchObject({
      status: 'declined',
    })
    expect((await served.get('/api/drafts', asUser)).body.messages).toEqual([])
  })

  test('lists have pages, and the pages of a thread too', async () => {
    const served = await serve()
    const [own, target] = [await served.open('external'), await served.open('external')]
    for (let n = 0; n < 201; n += 1)
      await served.post('/api/messages', {
        from: own,
        session: target,
        message: `draft ${n}`,
        id: `d${n}`,
        draft: true,
      })
    for (const path of ['/api/drafts', `/api/sessions/${own}/drafts`]) {
      const first = (await served.get(path)).body
      expect([first.messages.length, first.messages[0].id, typeof first.next]).toEqual([
        200,
        'd200',
        'number',
      ])
      expect((await served.get(`${path}?before=${first.next}`)).body).toMatchObject({
        messages: [{ id: 'd0' }],
        next: null,
      })
    }
    const sent = await served.post('/api/messages', { from: own, session: target, message: 'one' })
    const [known] = (await served.get(`/api/messages/${sent.body.id}/thread`)).body.messages
    expect(known.id).toBe(sent.body.id)
    expect((await served.get(`/api/messages/${sent.body.id}/thread?after=999999999`)).body).toEqual({
      messages: [],
      next: null,
    })
  })
})

test('a retry with the same Idempotency-Key writes and accepts once', async () => {
  const served = await serve()
  const { post, get, open } = served
  const [own, target] = [await open('external'), await open('external')]
  const send = () =>
    post('/api/messages', { from: own, session: target, message: 'once' }, { 'idempotency-key': 'send' })
  expect((await send()).body.id).toBe((await send()).body.id)
  await post('/api/messages', { from: own, session: target, message: 'two' })
  const accept = () =>
    post(`/api/sessions/${target}/accept`, { which: 'oldest' }, { 'idempotency-key': 'accept' })
  const [first, again] = [await accept(), await accept()]
  expect(first.body.message.message).toBe('once')
  expect(again.body.message.id).toBe(first.body.message.id)
  const { messages } = (await get(`/api/sessions/${target}/inbox`)).body
  expect(messages.map(({ status }: { status: string }) => status)).toEqual(['ready', 'buffered'])
  expect(
    (await post(`/api/sessions/${own}/accept`, {}, { 'idempotency-key': 'accept' })).body.error.field,
  ).toBe('Idempotency-Key')
})

test('a draft that is thrown away twice is thrown away: the second answer is the first', async () => {
  const served = await serve()
  const { post, open } = served
  const [own, target] = [await open('external'), await open('echo')]
  for (const [id, headers] of [
    ['by-user', {}],
    ['by-owner', tokenOf(served, own)],
  ] as const) {
    await post(
      '/api/messages',
      { ...(id === 'by-user' ? { from: own } : {}), session: target, message: 'x', id, draft: true },
      headers,
    )
    const key = { ...headers, 'idempotency-key': `decline ${id}` }
    const [first, second] = [
      await post(`/api/messages/${id}/decline`, {}, key),
      await post(`/api/messages/${id}/decline`, {}, key),
    ]
    expect([first.status, first.body]).toMatchObject([200, { id, status: 'declined' }])
    expect([second.status, second.body]).toEqual([first.status, first.body])
  }
  expect(
    (
      await post(
        '/api/messages/by-owner/decline',
        {},
        tokenOf(served, await open('external', { id: 'other' })),
      )
    ).status,
  ).toBe(403)
})
