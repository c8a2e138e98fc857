import { expect, test } from 'vitest'
import { AgentDefinition, MailTarget, Notices } from './event-parts.ts'

test.each<[unknown, boolean]>([
  [{ kind: 'session', session: 'ses_1' }, true],
  [{ kind: 'session', session: 'x' }, false],
  [{ kind: 'new' }, true],
  [{ kind: 'fork', back: 0 }, true],
  [{ kind: 'fork', back: -1 }, false],
  [{ kind: 'fork' }, false],
  [{ kind: '' }, false],
  [{ kind: 'new', more: 1 }, false],
])('%j is whom a draft can be for: %s', (target, is) => {
  expect(MailTarget.safeParse(target).success).toBe(is)
})

test('notices and definitions of agents keep what they are given', () => {
  const notices = { upTo: 3, texts: [{ about: 'call_1', text: 'late' }] }
  expect(Notices.parse(notices)).toEqual(notices)
  const definition = {
    title: 't',
    description: 'd',
    prompt: 'p',
    model: null,
    tools: ['read'],
    driver: 'host',
  }
  expect(AgentDefinition.parse(definition)).toEqual(definition)
})
