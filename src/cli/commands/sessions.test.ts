import { expect, test } from 'vitest'
import type { Session } from '../../wire/sessions.ts'
import { renderSession } from './sessions.ts'

/** As a server from before an update says it: nothing of what was used. */
const older = {
  id: 'ses_a',
  title: 'a title',
  cwd: '/tmp',
  kind: 'persistent',
  status: 'idle',
  agentName: 'clerk',
  buffered: 0,
  orphan: false,
  away: false,
  presence: null,
  wakeable: false,
  quietUntil: null,
  updatedAt: 0,
} as unknown as Session

test('a session says what it has used, where the server says so', () => {
  const cost = { usd: 0.5, planUsd: 0, unpricedTokens: 0 } as Session['cost']
  expect(renderSession({ ...older, tokensUsed: 1200, cost })).toMatch(/1,200 tokens, \$0\.5\d* {2}a title$/)
  expect(renderSession({ ...older, tokensUsed: 0, cost })).toMatch(/ {2}– {2}a title$/)
  expect(renderSession(older)).toMatch(/ {2}– {2}a title$/)
})
