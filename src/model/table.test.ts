import { expect, test } from 'vitest'
import { mayUse } from './authority.ts'
import { table } from './table.ts'

const inherited = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf']

test('a table has only what was put into it', () => {
  const words = table({ one: 1 })
  expect(words['one']).toBe(1)
  expect(inherited.map((name) => words[name])).toEqual(inherited.map(() => undefined))
})

test.each(inherited)('a tool named %s is one that nobody has', (name) => {
  expect(mayUse({ tools: null, nested: true } as never, ['read'], name)).toBe(false)
})
