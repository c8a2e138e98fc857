/** Sending: what the tool may not do, no door does for it. */
import { describe, expect, test } from 'vitest'
import type { SessionId } from '../../src/model/id.ts'
import type { Who } from '../../src/runtime/desk/asker.ts'
import { everyDoor, openDoors, tryDoors, type Door, type Doors } from '../kits/doors.ts'
import { asSession, asTurn, user } from './scene.ts'

/** The doors besides the tool that write to a session at once. */
const messageDoors = (doors: Doors, who: Who, to: SessionId): Record<string, Door> => ({
  'POST /api/sessions/:id/messages': () =>
    doors.http(who, 'POST', `/api/sessions/${to}/messages`, { message: 'hello' }),
  'the library, sessions.send': () =>
    doors.library(doors.as(who).sessions.send(to, { message: 'hello', delivery: 'auto' })),
})

/** Those that write mail. */
const mailDoors = (
  doors: Doors,
  who: Who,
  mail: { session: string; draft?: boolean },
): Record<string, Door> => ({
  'POST /api/messages': () => doors.http(who, 'POST', '/api/messages', { message: 'hello', ...mail }),
  'the library, mail.send': () => doors.library(doors.as(who).mail.send({ message: 'hello', ...mail })),
})

/** Those that change or send a draft that is there, or make a session of a conversation. */
const draftDoors = (doors: Doors, who: Who, id: string): Record<string, Door> => ({
  'POST /api/messages/:id/release': () => doors.http(who, 'POST', `/api/messages/${id}/release`, {}),
  'the library, mail.release': () => doors.library(doors.as(who).mail.release(id)),
})

const forkDoors = (doors: Doors, who: Who, session: SessionId): Record<string, Door> => ({
  'POST /api/sessions/:id/fork': () => doors.http(who, 'POST', `/api/sessions/${session}/fork`, {}),
  'the library, sessions.fork': () => doors.library(doors.as(who).sessions.fork(session)),
})

/** What has reached a session: mail that waits, and what it was told. */
async function receivedBy({ as }: Doors, session: SessionId): Promise<number> {
  const [inbox, history] = [await as(user).mail.inbox(session), await as(user).sessions.history(session)]
  return 'total' in inbox && 'messages' in history ? inbox.total + history.messages.length : -1
}

describe('where the configuration keeps every message as a draft', () => {
  const settings = '[tools.locked.send-message]\ndraft = true\n'

  test.each(['free', 'program'])('no door sends one for a turn of %s', async (agent) => {
    const doors = await openDoors({ settings })
    const actor = await (agent === 'program' ? doors.beginHosted() : doors.begin(agent))
    const who = asSession(actor.session)
    const target = await doors.open('target')
    const mail = { session: target, draft: false }
    const kept = await doors.ask(who, 'POST', '/api/messages', { message: 'hello', session: target })
    expect(kept.body).toMatchObject({ draft: true, status: 'draft' })
    const table = {
      ...doors.toolDoors(actor, 'send-message', { message: 'hello', ...mail }),
      ...mailDoors(doors, who, mail),
      ...draftDoors(doors, who, kept.body.id as string),
      ...forkDoors(doors, who, actor.session),
    }
    expect(await tryDoors(table)).toEqual(everyDoor(table, 'bad_input'))
    expect(await receivedBy(doors, target)).toBe(0)
    const byUser = await doors.http(user, 'POST', `/api/messages/${kept.body.id as string}/release`, {})
    // A person may send what was drafted, but not more than its author may.
    expect(byUser === 'let through' ? byUser : byUser.code).toBe(
      agent === 'free' ? 'let through' : 'not_allowed',
    )
  })

  test('no door sends one for a client outside', async () => {
    const doors = await openDoors({ settings })
    const session = await doors.open('external')
    const target = await doors.open('target')
    const mail = { session: target, draft: false }
    const table = {
      ...doors.restingToolDoors(session, 'send-message', { message: 'hello', ...mail }),
      ...mailDoors(doors, asSession(session), mail),
    }
    expect(await tryDoors(table)).toEqual(everyDoor(table, 'bad_input'))
    expect(await receivedBy(doors, target)).toBe(0)
  })

  test('one that must be sent at once can be', async () => {
    const doors = await openDoors({ settings: '[tools.locked.send-message]\ndraft = false\n' })
    const { session } = await doors.begin('free')
    const who = asSession(session)
    const target = await doors.open('target')
    expect(await doors.http(who, 'POST', '/api/messages', { message: 'hello', session: target })).toBe(
      'let through',
    )
    expect(await tryDoors(forkDoors(doors, who, session))).toEqual(
      everyDoor(forkDoors(doors, who, session), 'let through'),
    )
  })

  test('a default is no lock: a draft that it kept can be released', async () => {
    const doors = await openDoors({ settings: '[tools.defaults.send-message]\ndraft = true\n' })
    const { session } = await doors.begin('free')
    const who = asSession(session)
    const target = await doors.open('target')
    const kept = await doors.ask(who, 'POST', '/api/messages', { message: 'hello', session: target })
    expect(kept.body).toMatchObject({ draft: true })
    expect(await doors.http(who, 'POST', `/api/messages/${kept.body.id as string}/release`, {})).toBe(
      'let through',
    )
    expect(await receivedBy(doors, target)).toBe(1)
  })
})

describe.each([
  [
    'that a person must be asked about',
    {
      agents: {
        free: {
          allowSubAgentCalls: true,
          ask: ['send-message', 'send_agent_message', 'create_agent_session', 'buffer'],
        },
      },
    },
  ],
  [
    'that its agent does not have',
    { agents: { free: { allowSubAgentCalls: true, tools: ['list-session'] } } },
  ],
  ['that is turned off for everybody', { settings: '[tools]\nenable = ["list-session"]\n' }],
])('a tool %s', (_why, options) => {
  test('is used at no door, whatever the door calls it', async () => {
    const doors = await openDoors(options)
    const actor = await doors.begin('free')
    const who = asSession(actor.session)
    const target = await doors.open('target')
    await doors.as(user).sessions.send(actor.session, { message: 'for you', delivery: 'buffer' })
    const inbox = await doors.as(user).mail.inbox(actor.session)
    const waiting = 'messages' in inbox ? (inbox.messages[0]?.id ?? '') : ''
    const cwd = doors.served.dataDir
    const table = {
      ...doors.toolDoors(actor, 'send_agent_message', { sessionId: target, message: 'hello' }),
      ...messageDoors(doors, who, target),
      ...mailDoors(doors, who, { session: target }),
      ...draftDoors(doors, who, 'a-draft'),
      ...forkDoors(doors, who, actor.session),
      'POST /api/sessions': () => doors.http(who, 'POST', '/api/sessions', { cwd, agent: 'target' }),
      'PATCH /api/messages/:id': () => doors.http(who, 'PATCH', '/api/messages/a-draft', { message: 'x' }),
      'POST /api/sessions/:id/accept': () =>
        doors.http(who, 'POST', `/api/sessions/${actor.session}/accept`, { which: 'oldest' }),
      'POST /api/messages/:id/decline': () => doors.http(who, 'POST', `/api/messages/${waiting}/decline`, {}),
      'the library, mail.accept': () => doors.library(doors.as(who).mail.accept(actor.session, 'oldest')),
      'the library, mail.decline': () => doors.library(doors.as(who).mail.decline(waiting)),
    }
    expect(await tryDoors(table)).toEqual(everyDoor(table, 'tool_disabled'))
    for (const [tool, input] of [
      ['send-message', { message: 'hello', session: target }],
      ['create_agent_session', { cwd, agent: 'target' }],
      ['buffer', { accept: 'oldest' }],
    ] as const) {
      const tools = doors.toolDoors(actor, tool, input)
      expect([tool, await tryDoors(tools)]).toEqual([tool, everyDoor(tools, 'tool_disabled')])
    }
    expect([await receivedBy(doors, target), await receivedBy(doors, actor.session)]).toEqual([0, 1])
  })
})

test('a tool that is turned off is used by no client outside, and by no program between its turns', async () => {
  const doors = await openDoors({ settings: '[tools]\nenable = ["list-session"]\n' })
  const target = await doors.open('target')
  for (const session of [await doors.open('external'), await doors.openHosted()]) {
    const who = asSession(session)
    const table = {
      ...doors.restingToolDoors(session, 'send_agent_message', { sessionId: target, message: 'hello' }),
      ...messageDoors(doors, who, target),
      ...mailDoors(doors, who, { session: target }),
    }
    expect(await tryDoors(table)).toEqual(everyDoor(table, 'tool_disabled'))
  }
  expect(await receivedBy(doors, target)).toBe(0)
})

describe('an agent without allowSubAgentCalls', () => {
  const agents = { bound: { allowSubAgentCalls: false } }

  test.each(['bound', 'program'])('writes to nobody at any door in a turn of %s', async (agent) => {
    const doors = await openDoors({ agents })
    const actor = await (agent === 'program' ? doors.beginHosted() : doors.begin(agent))
    const who = asSession(actor.session)
    const target = await doors.open('target')
    const table = {
      ...doors.toolDoors(actor, 'send_agent_message', { sessionId: target, message: 'hello' }),
      ...messageDoors(doors, who, target),
      ...mailDoors(doors, who, { session: target }),
    }
    expect(await tryDoors(table)).toEqual(everyDoor(table, 'not_allowed'))
    const mail = doors.toolDoors(actor, 'send-message', { message: 'hello', session: target })
    expect(await tryDoors(mail)).toEqual(everyDoor(mail, 'not_allowed'))
    expect(await receivedBy(doors, target)).toBe(0)
  })

  test('writes to nobody between the turns of its program either', async () => {
    const doors = await openDoors()
    const session = await doors.openHosted()
    const target = await doors.open('target')
    const table = {
      ...doors.restingToolDoors(session, 'send_agent_message', { sessionId: target, message: 'hello' }),
      ...messageDoors(doors, asSession(session), target),
      ...mailDoors(doors, asSession(session), { session: target }),
    }
    expect(await tryDoors(table)).toEqual(everyDoor(table, 'not_allowed'))
    const mail = doors.restingToolDoors(session, 'send-message', { message: 'hello', session: target })
    expect(await tryDoors(mail)).toEqual(everyDoor(mail, 'not_allowed'))
    expect(await receivedBy(doors, target)).toBe(0)
  })

  test('calls nobody at any door', async () => {
    const doors = await openDoors({ agents })
    const actor = await doors.begin('bound')
    const call = { agent: 'target', task: 'work' }
    const table: Record<string, Door> = {}
    for (const who of [asSession(actor.session), asTurn(actor)]) {
      table[`POST /api/calls, ${who.kind}`] = () => doors.http(who, 'POST', '/api/calls', call)
      table[`the library, ${who.kind}`] = () => doors.library(doors.as(who).calls.open(call))
    }
    expect(await tryDoors(table)).toEqual(everyDoor(table, 'not_allowed'))
    const used = await actor.use('sub_agent', { agent_name: 'target', task: 'work' })
    expect(used.value).toMatchObject({ outcome: 'refused' })
  })
})

test('nobody speaks for another session, at any door', async () => {
  const doors = await openDoors()
  const [actor, other, target] = [
    await doors.begin('free'),
    await doors.open('external'),
    await doors.open('target'),
  ]
  const table: Record<string, Door> = {}
  for (const who of [asSession(actor.session), asTurn(actor)]) {
    const desk = doors.as(who)
    Object.assign(table, {
      [`messages, ${who.kind}`]: () =>
        doors.http(who, 'POST', `/api/sessions/${target}/messages`, { message: 'x', fromSession: other }),
      [`mail, ${who.kind}`]: () =>
        doors.http(who, 'POST', '/api/messages', { message: 'x', session: target, from: other }),
      [`calls, ${who.kind}`]: () =>
        doors.http(who, 'POST', '/api/calls', { agent: 'target', task: 'x', from: other }),
      [`tools, ${who.kind}`]: () =>
        doors.http(who, 'POST', '/api/tools/list-session', { input: {}, session: other }),
      [`library, messages, ${who.kind}`]: () =>
        doors.library(desk.sessions.send(target, { message: 'x', fromSession: other, delivery: 'auto' })),
      [`library, mail, ${who.kind}`]: () =>
        doors.library(desk.mail.send({ message: 'x', session: target, from: other })),
      [`library, calls, ${who.kind}`]: () =>
        doors.library(desk.calls.open({ agent: 'target', task: 'x', from: other })),
      [`library, tools, ${who.kind}`]: () =>
        doors.library(desk.tools.use('list-session', {}, { session: other })),
    })
  }
  expect(await tryDoors(table)).toEqual(everyDoor(table, 'not_allowed'))
  expect(await receivedBy(doors, target)).toBe(0)
})

test('Letta’s clients act for the user: no token of a session or a turn is let in', async () => {
  const doors = await openDoors()
  const actor = await doors.begin('free')
  const table: Record<string, Door> = {}
  for (const who of [asSession(actor.session), asTurn(actor)])
    for (const [method, path, body] of [
      ['POST', '/v1/agents/target/messages', { content: 'hello' }],
      ['POST', '/v1/agents/target/messages/stream', { content: 'hello' }],
      ['GET', '/v1/agents/target/messages'],
      ['GET', '/v1/agents'],
      ['POST', '/v1/agents', { name: 'another' }],
      ['DELETE', '/v1/agents/target'],
    ] as const)
      table[`${method} ${path}, ${who.kind}`] = () => doors.http(who, method, path, body)
  expect(await tryDoors(table)).toEqual(everyDoor(table, 'not_allowed'))
  expect(await doors.http(user, 'POST', '/v1/agents/target/messages', { content: 'hello' })).toBe(
    'let through',
  )
})
