import { expect, test } from 'vitest'
import { readClient, readClientName } from './client-name.ts'

test('a client is named by its product', () => {
  expect(readClientName('curl/8.5.0')).toBe('curl')
  expect(readClientName('Mozilla/5.0 (X11; Linux)')).toBe('mozilla')
  expect(readClientName('claude-code/2.1 (cli)')).toBe('claude-code')
  expect(readClientName('x'.repeat(500))).toHaveLength(64)
  for (const nothing of [undefined, '', '/1', ' curl', '../etc', '<script>'])
    expect(readClientName(nothing)).toBe('http')
})

test('a name of a session that no program would give itself is none', () => {
  const named = (session: string) => readClient({ 'x-tieline-client-session': session }).session
  expect(named('s'.repeat(200))).toBe('s'.repeat(200))
  expect([named('s'.repeat(201)), named('${COPILOT_AGENT_SESSION_ID}')]).toEqual([undefined, undefined])
})
