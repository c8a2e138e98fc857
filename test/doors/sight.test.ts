/** Looking: a session sees itself and those below it, at every door; a turn sees nothing but its tools. */
import { describe, expect, test } from 'vitest'
import type { SessionId } from '../../src/model/id.ts'
import type { Who } from '../../src/runtime/desk/asker.ts'
import { everyDoor, tryDoors, type Door, type Doors } from '../kits/doors.ts'
import { declined } from '../kits/http.ts'
import { asSession, asTurn, openScene, user } from './scene.ts'

/** Every route that shows or changes a session, and the same in the library. */
function sessionDoors({ http, library, as }: Doors, who: Who, id: SessionId): Record<string, Door> {
  const at = `/api/sessions/${id}`
  const { sessions, mail, calls, tools, log } = as(who)
  const traced = { key: 'one', tool: 'own', input: {}, ended: null }
  return {
    ...Object.fromEntries(
      ['', '/state', '/messages', '/calls', '/wait', '/inbox', '/drafts'].map((path) => [
        `GET /api/sessions/:id${path}`,
        () => http(who, 'GET', `${at}${path}`),
      ]),
    ),
    'GET /api/sessions?parent': () => http(who, 'GET', `/api/sessions?parent=${id}`),
    'GET /api/calls?session': () => http(who, 'GET', `/api/calls?session=${id}`),
    'GET /api/events?session': () => http(who, 'GET', `/api/events?session=${id}`),
    'POST /api/sessions with a parent': () =>
      http(who, 'POST', '/api/sessions', { cwd: '/', agent: 'target', parent: id }),
    'POST /api/sessions/:id/cancel': () => http(who, 'POST', `${at}/cancel`, {}),
    'POST /api/sessions/:id/accept': () => http(who, 'POST', `${at}/accept`, { which: 'oldest' }),
    'POST /api/sessions/:id/fork': () => http(who, 'POST', `${at}/fork`, {}),
    'POST /api/sessions/:id/adopt': () => http(who, 'POST', `${at}/adopt`, { parent: null }),
    'POST /api/sessions/:id/trace': () => http(who, 'POST', `${at}/trace`, traced),
    'DELETE /api/sessions/:id': () => http(who, 'DELETE', at),
    'GET /api/explain/:id': () => http(who, 'GET', `/api/explain/${id}`),
    'library: explain': () => library(log.explain(id)),
    'library: get': () => library(sessions.get(id)),
    'library: state': () => library(sessions.state(id)),
    'library: wait': () => library(sessions.wait(id, 1)),
    'library: history': () => library(sessions.history(id)),
    'library: rename': () => library(sessions.rename(id, 'mine')),
    'library: cancel': () => library(sessions.cancel(id)),
    'library: archive': () => library(sessions.archive(id)),
    'library: fork': () => library(sessions.fork(id)),
    'library: list below': () => library(sessions.list({ parent: id })),
    'library: create below': () => library(sessions.create({ cwd: '/', agent: 'target', parent: id })),
    'library: inbox': () => library(mail.inbox(id)),
    'library: accept': () => library(mail.accept(id, 'oldest')),
    'library: drafts': () => library(mail.drafts(id)),
    'library: calls': () => library(calls.list({ session: id })),
    'library: trace': () => library(tools.trace(id, traced)),
    'library: follow': () => library(log.named([id])),
  }
}

/** What belongs to the user alone. */
const userDoors = ({ http, library, as }: Doors, who: Who): Record<string, Door> => ({
  ...Object.fromEntries(
    ['/api/questions', '/api/waits', '/api/drafts', '/api/numbers', '/metrics', '/api/server'].map((path) => [
      `GET ${path}`,
      () => http(who, 'GET', path),
    ]),
  ),
  'POST /api/questions/:id': () => http(who, 'POST', '/api/questions/q', { answer: 'allow' }),
  'library: questions': () => library(as(who).questions.list()),
  'library: answer': () => library(as(who).questions.answer('q', { answer: 'allow' })),
  'library: waits': () => library(as(who).log.waits()),
  'library: drafts of all': () => library(as(who).mail.drafts(null)),
  'library: agent': () => library(as(who).agents.get('target')),
  'library: ask': () => library(as(who).agents.ask('ses_main-target', 'hello')),
  'library: adopt': () => library(as(who).sessions.adopt('ses_1', null)),
})

describe('a foreign session', () => {
  test('is neither shown nor changed at any door, for the token of a session', async () => {
    const scene = await openScene()
    const who = asSession(scene.actor.session)
    const table = {
      ...sessionDoors(scene, who, scene.foreign),
      ...scene.toolDoors(scene.actor, 'buffer', { session: scene.foreign }),
      ...userDoors(scene, who),
    }
    expect(await tryDoors(table)).toEqual(everyDoor(table, 'not_allowed'))
    const accepting = scene.toolDoors(scene.actor, 'buffer', { session: scene.foreign, accept: 'oldest' })
    expect(await tryDoors(accepting)).toEqual(everyDoor(accepting, 'not_allowed'))
  })

  test('is neither shown nor changed for the token of a turn, and nor is its own', async () => {
    const scene = await openScene()
    const who = asTurn(scene.actor)
    const [own, foreign] = [
      sessionDoors(scene, who, scene.actor.session),
      { ...sessionDoors(scene, who, scene.foreign), ...userDoors(scene, who) },
    ]
    expect(await tryDoors(own)).toEqual(everyDoor(own, 'not_allowed'))
    expect(await tryDoors(foreign)).toEqual(everyDoor(foreign, 'not_allowed'))
    const headers = { authorization: `Bearer ${scene.token(who)}` }
    const { url } = scene.served
    expect((await declined(url, '', headers)).body.error).toMatchObject({ code: 'not_allowed' })
    expect(await scene.http(who, 'GET', '/api/events')).toMatchObject({ code: 'not_allowed' })
  })

  test('has letters, drafts and calls that no other door shows', async () => {
    const { actor, letter, draft, call, http, library, as, toolDoors } = await openScene()
    const who = asSession(actor.session)
    const mail: Record<string, Door> = {}
    for (const id of [letter, draft])
      Object.assign(mail, {
        [`GET /api/messages/${id}`]: () => http(who, 'GET', `/api/messages/${id}`),
        [`GET /api/messages/${id}/thread`]: () => http(who, 'GET', `/api/messages/${id}/thread`),
        [`PATCH ${id}`]: () => http(who, 'PATCH', `/api/messages/${id}`, { message: 'mine' }),
        [`decline ${id}`]: () => http(who, 'POST', `/api/messages/${id}/decline`, {}),
        [`library: get ${id}`]: () => library(as(who).mail.get(id)),
        [`library: thread ${id}`]: () => library(as(who).mail.thread(id)),
        [`library: decline ${id}`]: () => library(as(who).mail.decline(id)),
      })
    const asked = await tryDoors(mail)
    // A letter that was sent cannot be changed by anybody: that is said first.
    expect({ ...asked, [`PATCH ${letter}`]: 'message_not_yours' }).toEqual(
      everyDoor(mail, 'message_not_yours'),
    )
    expect(asked[`PATCH ${letter}`]).not.toBe('let through')
    const calls = {
      'GET /api/calls/:id': () => http(who, 'GET', `/api/calls/${call}`),
      'library: call': () => library(as(who).calls.get(call)),
      ...toolDoors(actor, 'read_output', { call_id: call }),
    }
    expect(await tryDoors(calls)).toEqual(everyDoor(calls, 'call_unknown'))
    const waiting = toolDoors(actor, 'wait_for_call', { call_id: call })
    expect(await tryDoors(waiting)).toEqual(everyDoor(waiting, 'call_unknown'))
  })

  test('has letters that the token of a turn does not show, and nor does it show its own', async () => {
    const { actor, letter, http, library, as } = await openScene()
    await as(user).sessions.send(actor.session, { message: 'for you', delivery: 'buffer' })
    const inbox = await as(user).mail.inbox(actor.session)
    const own = 'messages' in inbox ? (inbox.messages[0]?.id ?? '') : ''
    const who = asTurn(actor)
    const table: Record<string, Door> = {
      'GET /api/dead-letters': () => http(who, 'GET', '/api/dead-letters'),
      'library: dead letters': () => library(as(who).mail.deadLetters()),
    }
    for (const id of [letter, own])
      Object.assign(table, {
        [`GET /api/messages/${id}`]: () => http(who, 'GET', `/api/messages/${id}`),
        [`GET /api/messages/${id}/thread`]: () => http(who, 'GET', `/api/messages/${id}/thread`),
        [`library: get ${id}`]: () => library(as(who).mail.get(id)),
        [`library: thread ${id}`]: () => library(as(who).mail.thread(id)),
      })
    expect(await tryDoors(table)).toEqual(everyDoor(table, 'not_allowed'))
  })
})

test('a session sees itself and what is below it at every door', async () => {
  const scene = await openScene()
  const who = asSession(scene.actor.session)
  for (const id of [scene.actor.session, scene.child]) {
    const { http, library, as } = scene
    const table = {
      ...Object.fromEntries(
        ['', '/state', '/messages', '/calls', '/inbox', '/drafts'].map((path) => [
          path,
          () => http(who, 'GET', `/api/sessions/${id}${path}`),
        ]),
      ),
      history: () => library(as(who).sessions.history(id)),
      inbox: () => library(as(who).mail.inbox(id)),
      calls: () => library(as(who).calls.list({ session: id })),
      events: () => library(as(who).log.named([id])),
    }
    expect(await tryDoors(table)).toEqual(everyDoor(table, 'let through'))
  }
  const { body } = await scene.ask(who, 'GET', '/api/sessions')
  expect((body.sessions as { id: string }[]).map(({ id }) => id)).toEqual([scene.child])
})
