import { expect, test } from 'vitest'
import { readClientName } from './client-name.ts'

test('a client is named by its product', () => {
  expect(readClientName('curl/8.5.0')).toBe('curl')
  expect(readClientName('Mozilla/5.0 (X11; Linux)')).toBe('mozilla')
  expect(readClientName('claude-code/2.1 (cli)')).toBe('claude-code')
  expect(readClientName('x'.repeat(500))).toHaveLength(64)
  for (const nothing of [undefined, '', '/1', ' curl', '../etc', '<script>'])
    expect(readClientName(nothing)).toBe('http')
})
