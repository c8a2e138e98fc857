import { expect, test } from 'vitest'
import { clientNameOf } from './client-name.ts'

test('a client is named by its product', () => {
  expect(clientNameOf('curl/8.5.0')).toBe('curl')
  expect(clientNameOf('Mozilla/5.0 (X11; Linux)')).toBe('mozilla')
  expect(clientNameOf('claude-code/2.1 (cli)')).toBe('claude-code')
  expect(clientNameOf('x'.repeat(500))).toHaveLength(64)
  for (const nothing of [undefined, '', '/1', ' curl', '../etc', '<script>'])
    expect(clientNameOf(nothing)).toBe('http')
})
