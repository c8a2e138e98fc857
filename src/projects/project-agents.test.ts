import { expect, test } from 'vitest'
import { Agent } from '../model/agent.ts'
import type { Agents } from '../runtime/kernel/ports.ts'
import { viewAgents, type ProjectAgents } from './project-agents.ts'

function agentsOf(...names: string[]): Agents {
  const all = new Map(names.map((name) => [name, Agent.parse({ name, model: 'p/m', shared: true })]))
  const driver = (): never => {
    throw new Error('nothing runs here')
  }
  return { get: (name) => all.get(name), names: () => names, driver }
}

const project = (directory: string, ...names: string[]): ProjectAgents => ({
  directory,
  agents: agentsOf(...names),
  untrusted: null,
})

test('of two projects of one name none is meant, unless more of its directory is said', () => {
  const others = [project('/a/api', 'coder'), project('/b/api', 'tester'), project('/b/web', 'painter')]
  const view = viewAgents(null, agentsOf('own'), () => false, { list: () => others, at: () => null })
  expect(view.get('web/painter')?.name).toBe('web/painter')
  expect([view.get('api/coder'), view.get('api/tester')]).toEqual([undefined, undefined])
  expect([view.get('a/api/coder')?.name, view.get('/b/api/tester')?.name]).toEqual([
    'a/api/coder',
    '/b/api/tester',
  ])
})
