import { expect, test } from 'vitest'
import type { AgentView } from '../../wire/agents.ts'
import type { ProjectView } from '../../wire/projects.ts'
import { renderAgents } from './agents.ts'

const agent = (name: string, more: Partial<AgentView> = {}): AgentView => ({
  id: name,
  name,
  description: 'does it',
  driver: 'model',
  model: null,
  tools: [],
  allowSubAgentCalls: false,
  mayCall: null,
  origin: 'configured',
  session: null,
  system: '',
  createdAt: null,
  project: null,
  status: 'ready',
  reason: null,
  ...more,
})

const project = (name: string, more: Partial<ProjectView> = {}): ProjectView => ({
  name,
  directory: `/work/${name}`,
  file: `/work/${name}/tieline.toml`,
  state: 'used',
  problem: null,
  agents: [{ name: 'reviewer', description: 'reviews', shared: true }],
  ...more,
})

test('what can be called stands with its state, why not, and what other projects share', () => {
  const found = [
    agent('coder', { project: '/work/web' }),
    agent('codex', { driver: 'acp', status: 'unavailable', reason: 'Codex is not installed; install it' }),
  ]
  expect(renderAgents(found, [project('api'), project('web')], '/work/web/src')).toEqual([
    'coder  model  ready  does it',
    'codex  acp  unavailable: Codex is not installed; install it  does it',
    'api/reviewer  shared  reviews',
  ])
})

test('a project here that is not used is named, and one elsewhere is not', () => {
  const projects = [project('api', { state: 'changed' }), project('web', { state: 'new' })]
  expect(renderAgents([], projects, '/work/web')).toEqual([
    '/work/web/tieline.toml is not used (new): run "tieline trust".',
  ])
})

test('agreeing again does not help against a mistake, so it is to be corrected', () => {
  const broken = project('web', { state: 'broken', problem: 'agents.x.tools: there is no tool "raed"' })
  expect(renderAgents([], [broken], '/work/web')).toEqual([
    '/work/web/tieline.toml is not used (broken: agents.x.tools: there is no tool "raed"): correct it.',
  ])
})
