import { expect, test } from 'vitest'
import { cureUntrusted, explainUntrusted, type UntrustedProject } from './untrusted.ts'

const project = (state: UntrustedProject['state'], problem?: string | null): string =>
  explainUntrusted({
    file: '/a/tieline.json',
    state,
    agents: [],
    ...(problem === undefined ? {} : { problem }),
  })

test('why a configuration is not used: it is new, it has changed, or it has a mistake, which is said', () => {
  expect(project('new')).toBe('nobody has agreed to it yet')
  expect(project('new', 'no JSON')).toBe('nobody has agreed to it yet')
  expect(project('changed')).toBe('it has changed since a person agreed to it')
  expect(project('broken')).toBe('it has a mistake')
  expect(project('broken', null)).toBe('it has a mistake')
  expect(project('broken', 'no JSON')).toBe('it has a mistake: no JSON')
})

test('agreeing again does not correct a mistake: what a person does depends on the state', () => {
  expect(cureUntrusted('new')).toBe('run "tieline trust"')
  expect(cureUntrusted('changed')).toBe('run "tieline trust"')
  expect(cureUntrusted('broken')).toBe('correct it')
})
