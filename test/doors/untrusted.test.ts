/** An agent of a configuration that nobody has agreed to: every door says so, and none says "unknown". */
import { expect, test, vi } from 'vitest'
import { everyDoor, openDoors, tryDoors } from '../kits/doors.ts'
import { patience } from '../kits/cli.ts'
import { asSession, user } from './scene.ts'

vi.setConfig(patience)

const planted = '[agents.planted]\ndriver = "scripted"\nscript = [{ say = "it ran" }]\n'

test('an agent of an untrusted project is project_untrusted at every door, with what to do', async () => {
  const doors = await openDoors({ planted })
  const actor = await doors.begin('free')
  const cwd = doors.served.dataDir
  const table = {
    ...doors.toolDoors(actor, 'sub_agent', { agent_name: 'planted', task: 'go' }),
    ...doors.toolDoors(actor, 'call_agent', { agent_id: 'planted', message: 'go' }),
    ...doors.toolDoors(actor, 'create_agent_session', { agent: 'planted', cwd: '.' }),
    'POST /api/sessions': () => doors.http(user, 'POST', '/api/sessions', { cwd, agent: 'planted' }),
    'POST /api/sessions, first message': () =>
      doors.http(user, 'POST', '/api/sessions', { cwd, agent: 'planted', initialMessage: 'go' }),
    'POST /api/calls': () => doors.http(user, 'POST', '/api/calls', { agent: 'planted', task: 'go' }),
    'POST /api/calls as a session': () =>
      doors.http(asSession(actor.session), 'POST', '/api/calls', { agent: 'planted', task: 'go' }),
    'POST /v1/agents/:id/messages': () =>
      doors.http(user, 'POST', '/v1/agents/planted/messages', {
        messages: [{ role: 'user', content: 'go' }],
      }),
    'GET /v1/agents/:id': () => doors.http(user, 'GET', '/v1/agents/planted'),
  }
  expect(await tryDoors(table)).toEqual(everyDoor(table, 'project_untrusted'))
  const refused = await doors.ask(user, 'POST', '/api/sessions', { cwd, agent: 'planted' })
  expect(refused.status).toBe(409)
  expect(JSON.stringify(refused.body)).toContain('tieline trust')
  expect(await doors.http(user, 'POST', '/api/sessions', { cwd, agent: 'other' })).toMatchObject({
    code: 'agent_unknown',
  })
})

test('what is found and not used can be listed for the person who has to decide', async () => {
  const doors = await openDoors({ planted })
  await doors.open('free')
  const agents = [{ name: 'planted', description: '', shared: false }]
  expect((await doors.ask(user, 'GET', '/api/projects')).body).toMatchObject({
    projects: [{ directory: doors.served.dataDir, state: 'new', agents }],
  })
  const session = asSession(await doors.open('free'))
  expect(await doors.http(session, 'GET', '/api/projects')).toMatchObject({ code: 'not_allowed' })
})
