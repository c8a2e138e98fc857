/** Opening sessions: what the tool may not do, no door does for it. */
import { tmpdir } from 'node:os'
import { describe, expect, test } from 'vitest'
import type { Who } from '../../src/runtime/desk/asker.ts'
import { everyDoor, openDoors, tryDoors, type Door, type Doors } from '../kits/doors.ts'
import { asSession, asTurn } from './scene.ts'

/** The doors besides the tool that open a session. */
function openingDoors(doors: Doors, who: Who, agent: string, cwd: string): Record<string, Door> {
  return {
    'POST /api/sessions': () => doors.http(who, 'POST', '/api/sessions', { cwd, agent }),
    'POST /api/sessions with a first message': () =>
      doors.http(who, 'POST', '/api/sessions', { cwd, agent, initialMessage: 'begin' }),
    'the library': () => doors.library(doors.as(who).sessions.create({ cwd, agent })),
  }
}

const forkingDoors = (doors: Doors, who: Who, session: string): Record<string, Door> => ({
  'POST /api/sessions/:id/fork': () => doors.http(who, 'POST', `/api/sessions/${session}/fork`, {}),
  'the library, fork': () => doors.library(doors.as(who).sessions.fork(session)),
})

const countSessions = async ({ as }: Doors): Promise<number> => {
  const listed = await as({ kind: 'user' }).sessions.list({ limit: 200 })
  return 'sessions' in listed ? listed.sessions.length : -1
}

describe('a directory that the configuration fixes', () => {
  const settings = '[tools.locked.create_agent_session]\ncwd = "."\n'
  const elsewhere = { cwd: tmpdir(), agent: 'target' }

  test.each(['free', 'program'])('is fixed at every door for a turn of %s', async (agent) => {
    const doors = await openDoors({ settings })
    const actor = await (agent === 'program' ? doors.beginHosted() : doors.begin(agent))
    const before = await countSessions(doors)
    const table = {
      ...doors.toolDoors(actor, 'create_agent_session', elsewhere),
      ...openingDoors(doors, asSession(actor.session), 'target', tmpdir()),
    }
    expect(await tryDoors(table)).toEqual(everyDoor(table, 'bad_input'))
    expect(await countSessions(doors)).toBe(before)
  })

  test('is fixed at every door for a client outside, and for a program between its turns', async () => {
    const doors = await openDoors({ settings })
    const sessions = [await doors.open('external'), await doors.openHosted()]
    const before = await countSessions(doors)
    for (const session of sessions) {
      const table = {
        ...doors.restingToolDoors(session, 'create_agent_session', elsewhere),
        ...openingDoors(doors, asSession(session), 'target', tmpdir()),
      }
      expect(await tryDoors(table)).toEqual(everyDoor(table, 'bad_input'))
    }
    expect(await countSessions(doors)).toBe(before)
  })

  test('does not bind the user', async () => {
    const doors = await openDoors({ settings })
    const table = openingDoors(doors, { kind: 'user' }, 'target', tmpdir())
    expect(await tryDoors(table)).toEqual(everyDoor(table, 'let through'))
  })
})

describe('an agent without allowSubAgentCalls', () => {
  const agents = { bound: { allowSubAgentCalls: false } }

  test.each(['bound', 'program'])('opens no session at any door from a turn of %s', async (agent) => {
    const doors = await openDoors({ agents })
    const actor = await (agent === 'program' ? doors.beginHosted() : doors.begin(agent))
    const cwd = doors.served.dataDir
    const before = await countSessions(doors)
    const table = {
      ...doors.toolDoors(actor, 'create_agent_session', { cwd, agent: 'target' }),
      ...doors.toolDoors(actor, 'send-message', { message: 'begin', session: 'new' }),
      ...openingDoors(doors, asSession(actor.session), 'target', cwd),
      ...forkingDoors(doors, asSession(actor.session), actor.session),
    }
    expect(await tryDoors(table)).toEqual(everyDoor(table, 'not_allowed'))
    expect(await countSessions(doors)).toBe(before)
  })

  test('opens none between the turns of its program either', async () => {
    const doors = await openDoors()
    const session = await doors.openHosted()
    const who: Who = asSession(session)
    const cwd = doors.served.dataDir
    const before = await countSessions(doors)
    const input = { cwd, agent: 'target' }
    const table = {
      ...doors.restingToolDoors(session, 'create_agent_session', input),
      ...openingDoors(doors, who, 'target', cwd),
      ...forkingDoors(doors, who, session),
    }
    expect(await tryDoors(table)).toEqual(everyDoor(table, 'not_allowed'))
    const withMessage = doors.restingToolDoors(session, 'create_agent_session', {
      ...input,
      initialMessage: 'begin',
    })
    expect(await tryDoors(withMessage)).toEqual(everyDoor(withMessage, 'not_allowed'))
    expect(await countSessions(doors)).toBe(before)
  })
})

test('the session of a client outside is for the user to open, at every door', async () => {
  const doors = await openDoors()
  const actor = await doors.begin('free')
  const cwd = doors.served.dataDir
  const clientOutside = await doors.open('external')
  const table = {
    ...doors.toolDoors(actor, 'create_agent_session', { cwd, agent: 'external' }),
    ...openingDoors(doors, asSession(actor.session), 'external', cwd),
  }
  expect(await tryDoors(table)).toEqual(everyDoor(table, 'agent_unknown'))
  const outside = {
    ...doors.restingToolDoors(clientOutside, 'create_agent_session', { cwd, agent: 'external' }),
    ...openingDoors(doors, asSession(clientOutside), 'external', cwd),
  }
  expect(await tryDoors(outside)).toEqual(everyDoor(outside, 'agent_unknown'))
})

test('the token of a turn opens, lists and forks nothing but by the tools of its turn', async () => {
  const doors = await openDoors()
  const actor = await doors.begin('free')
  const who = asTurn(actor)
  const table = {
    ...openingDoors(doors, who, 'target', doors.served.dataDir),
    ...forkingDoors(doors, who, actor.session),
    'GET /api/sessions': () => doors.http(who, 'GET', '/api/sessions'),
    'GET /api/calls': () => doors.http(who, 'GET', '/api/calls'),
    'the library, calls': () => doors.library(doors.as(who).calls.list()),
    'the library, list': () => doors.library(doors.as(who).sessions.list({})),
  }
  expect(await tryDoors(table)).toEqual(everyDoor(table, 'not_allowed'))
  const tools = doors.toolDoors(actor, 'create_agent_session', { cwd: '.', agent: 'target' })
  expect(await tryDoors(tools)).toEqual(everyDoor(tools, 'let through'))
})
