import { describe, expect, test } from 'vitest'
import {
  Archived,
  Cancelled,
  CreatedSession,
  History,
  SentMessage as Sent,
  Session,
  Sessions,
  SessionState as State,
} from '../../src/wire/sessions.ts'
import { expectNo, expectShape, serve, until } from '../kits/http.ts'

describe('sessions', () => {
  test('are created, listed, read and archived', async () => {
    const { post, get, ask } = await serve()
    const made = await post('/api/sessions', { cwd: '/tmp', agent: 'echo', title: 'mine' })
    expectShape(made, 201, CreatedSession)
    expect(made.body).toMatchObject({ cwd: '/tmp', agent: 'echo', model: null, messageId: null })
    const id = made.body.sessionId as string
    const list = await get('/api/sessions?agent=echo&active=false&dir=/tmp&limit=10')
    expectShape(list, 200, Sessions)
    expect(list.body.sessions.map((one: { id: string }) => one.id)).toEqual([id])
    const one = await get(`/api/sessions/${id.slice(8)}`)
    expectShape(one, 200, Session)
    expect(one.body).toMatchObject({ id, title: 'mine', archived: false })
    const gone = await ask('DELETE', `/api/sessions/${id}`)
    expectShape(gone, 200, Archived)
    expect(gone.body.archived).toEqual([id])
    expect((await get('/api/sessions')).body.sessions).toEqual([])
    expect((await get('/api/sessions?archived=true')).body.sessions).toHaveLength(1)
  })

  test('pages of a list meet without a gap', async () => {
    const { get, open } = await serve()
    for (let n = 0; n < 5; n += 1) await open('echo')
    const first = await get('/api/sessions?limit=3')
    const second = await get(`/api/sessions?limit=3&cursor=${encodeURIComponent(first.body.next as string)}`)
    const ids = [...first.body.sessions, ...second.body.sessions].map((one: { id: string }) => one.id)
    expect(new Set(ids).size).toBe(5)
    expect(second.body.next).toBeNull()
  })

  test('a directory that does not exist, an unknown agent, parent or field is refused by name', async () => {
    const { post } = await serve()
    expectNo(await post('/api/sessions', { cwd: '/nowhere/at/all' }), 400, 'bad_input', 'cwd')
    expectNo(await post('/api/sessions', { cwd: '/etc/hostname' }), 400, 'bad_input', 'cwd')
    expectNo(await post('/api/sessions', { cwd: `/${'x'.repeat(300)}` }), 400, 'bad_input', 'cwd')
    expectNo(await post('/api/sessions', { cwd: '/tmp\0' }), 400, 'bad_input', 'cwd')
    expectNo(await post('/api/sessions', { cwd: '/proc/self' }), 400, 'bad_input', 'cwd')
    expectNo(await post('/api/sessions', {}), 400, 'bad_input', 'cwd')
    expectNo(await post('/api/sessions', { cwd: '/tmp', agent: 'nobody' }), 404, 'agent_unknown')
    expectNo(await post('/api/sessions', { cwd: '/tmp', parent: 'ses_nobody' }), 404, 'session_unknown')
    expectNo(await post('/api/sessions', { cwd: '/tmp', colour: 'red' }), 400, 'bad_input', 'colour')
  })

  test('a part of an id that several have is refused with the candidates, one that none has as unknown', async () => {
    const { get, open } = await serve()
    const ids = [await open('echo'), await open('echo')]
    const ambiguous = await get('/api/sessions/ses_')
    expectNo(ambiguous, 409, 'session_ambiguous')
    expect(ambiguous.body.error.details.candidates.toSorted()).toEqual(ids.toSorted())
    expectNo(await get('/api/sessions/nothing-like-it'), 404, 'session_unknown')
    for (const path of ['state', 'wait', 'messages', 'calls'])
      expectNo(await get(`/api/sessions/nothing-like-it/${path}`), 404, 'session_unknown')
  })

  test('an initial message starts it, and an orphan is adopted', async () => {
    const { post, get, ask, open } = await serve()
    const parent = await open('echo')
    const made = await post('/api/sessions', { cwd: '/tmp', agent: 'echo', parent, initialMessage: 'hello' })
    expect(made.body).toMatchObject({ status: 'dispatched' })
    expect(made.body.messageId).toMatch(/^msg_/)
    const id = made.body.sessionId as string
    expect((await get(`/api/sessions?parent=${parent}`)).body.sessions).toHaveLength(1)
    const adopted = await post(`/api/sessions/${id}/adopt`, { parent: null })
    expectShape(adopted, 200, Session)
    expect(adopted.body.parent).toBeNull()
    await ask('DELETE', `/api/sessions/${parent}`)
    expect((await get(`/api/sessions/${id}`)).body.archived).toBe(false)
    expectNo(await post(`/api/sessions/${id}/adopt`, { parent: id }), 400, 'bad_input')
    expectNo(await post(`/api/sessions/${id}/adopt`, {}), 400, 'bad_input', 'parent')
  })
})

describe('messages', () => {
  test('are answered with 202, run, and stand in the history with where they came from', async () => {
    const { post, get, open } = await serve()
    const id = await open('echo')
    const sent = await post(`/api/sessions/${id}/messages`, { message: 'hello' })
    expectShape(sent, 202, Sent)
    expect(sent.body).toMatchObject({ status: 'dispatched', sessionId: id })
    const state = await get(`/api/sessions/${id}/wait?timeoutMs=5000`)
    expectShape(state, 200, State)
    expect(state.body).toMatchObject({
      status: 'idle',
      isActive: false,
      lastMessage: { role: 'assistant', content: 'echo: hello' },
    })
    await post(`/api/sessions/${id}/messages`, {
      message: 'from an applet',
      source: 'applet',
      applet: 'calendar',
    })
    await get(`/api/sessions/${id}/wait`)
    const history = await get(`/api/sessions/${id}/messages?limit=2`)
    expectShape(history, 200, History)
    expect(history.body.messages[0]).toMatchObject({
      role: 'user',
      text: 'from an applet',
      source: 'applet',
      applet: 'calendar',
    })
    const older = await get(`/api/sessions/${id}/messages?limit=2&before=${history.body.next}`)
    expect(older.body.messages.map((one: { text: string }) => one.text)).toEqual(['hello', 'echo: hello'])
  })

  test('queue behind a turn that runs, and "now" is refused while it does', async () => {
    const { post, get, open, gate } = await serve()
    const id = await open('held')
    await post(`/api/sessions/${id}/messages`, { message: 'first' })
    expect((await post(`/api/sessions/${id}/messages`, { message: 'second' })).body.status).toBe('queued')
    expectNo(
      await post(`/api/sessions/${id}/messages`, { message: 'third', delivery: 'now' }),
      409,
      'session_busy',
    )
    const busy = await get(`/api/sessions/${id}/wait?timeoutMs=10`)
    expect(busy.body).toMatchObject({ status: 'streaming', isActive: true, queued: 1 })
    await until(() => gate.entered === 1)
    gate.release()
    await until(() => gate.entered === 2)
    gate.release()
    expect((await get(`/api/sessions/${id}/wait`)).body.isActive).toBe(false)
  })

  test('source, applet and sender must fit together', async () => {
    const { post, open } = await serve()
    const id = await open('echo')
    const to = `/api/sessions/${id}/messages`
    expectNo(await post(to, {}), 400, 'bad_input', 'message')
    expectNo(await post(to, { message: '' }), 400, 'bad_input', 'message')
    expectNo(await post(to, { message: 'a\ud800b' }), 400, 'bad_input', 'message')
    expectNo(await post(to, { message: 'x', source: 'applet' }), 400, 'bad_input', 'applet')
    expectNo(
      await post(to, { message: 'x', source: 'applet', applet: 'n'.repeat(65) }),
      400,
      'bad_input',
      'applet',
    )
    expectNo(await post(to, { message: 'x', applet: 'calendar' }), 400, 'bad_input', 'applet')
    expectNo(await post(to, { message: 'x', source: 'agent' }), 400, 'bad_input', 'fromSession')
    expectNo(await post(to, { message: 'x', source: 'god' }), 400, 'bad_input', 'source')
    expectNo(await post(to, { message: 'x', delivery: 'later' }), 400, 'bad_input', 'delivery')
    expectNo(await post(to, { message: 'x', messageId: 'a b' }), 400, 'bad_input', 'messageId')
    expectNo(await post(to, { message: 'x'.repeat(200_000) }), 413, 'too_large')
    expectNo(await post('/api/sessions/ses_nobody/messages', { message: 'x' }), 404, 'session_unknown')
  })
})

describe('cancel', () => {
  test('ends the turn and what is below it, and with "all" what is queued', async () => {
    const { post, get, open, gate } = await serve()
    const id = await open('boss')
    await post(`/api/sessions/${id}/messages`, { message: 'wait' })
    await post(`/api/sessions/${id}/messages`, { message: 'wait' })
    await until(() => gate.entered === 1)
    const cancelled = await post(`/api/sessions/${id}/cancel`, { all: true })
    expectShape(cancelled, 200, Cancelled)
    expect(cancelled.body.cancelled).toBeGreaterThan(0)
    await until(() => gate.aborted === 1)
    expect((await get(`/api/sessions/${id}/wait`)).body.isActive).toBe(false)
    expect(gate.entered).toBe(1)
    expect((await post(`/api/sessions/${id}/cancel`)).body.cancelled).toBe(0)
    expectNo(await post(`/api/sessions/${id}/cancel`, { all: 'yes' }), 400, 'bad_input', 'all')
    expectNo(await post('/api/sessions/ses_nobody/cancel'), 404, 'session_unknown')
  })
})
