/** An agent of a configuration that nobody has agreed to: every door says so, and none says "unknown". */
import { expect, test, vi } from 'vitest'
import type { Untrusted } from '../../src/config.ts'
import { everyDoor, openDoors, tryDoors } from '../kits/doors.ts'
import { patience } from '../kits/cli.ts'
import { asSession, user } from './scene.ts'

vi.setConfig(patience)

const untrusted: Untrusted = {
  file: '/work/tieline.toml',
  state: 'new',
  agents: ['planted'],
  files: [{ path: '/work/tieline.toml', hash: 'x' }],
  reach: null,
  problem: null,
  before: null,
}

test('an agent of an untrusted project is project_untrusted at every door, with what to do', async () => {
  const doors = await openDoors({ untrusted })
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
  const { served } = await openDoors({ untrusted })
  expect(served.line.book.untrusted?.()).toEqual([
    expect.objectContaining({ file: '/work/tieline.toml', state: 'new', agents: ['planted'] }),
  ])
})
