import { isAbsolute, relative, resolve, sep } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { within } from './handles.ts'

const part = fc.constantFrom('a', 'ab', 'b', '..', '...', '..a', '.', '.git')
const path = fc.array(part, { maxLength: 5 }).map((parts) => resolve('/', ...parts))

const isBelow = (root: string, given: string): boolean => {
  const way = relative(root, given)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

test('a resolved path is within a directory where no step up leads from one to the other', () => {
  fc.assert(
    fc.property(path, path, (root, given) => {
      expect(within(root, given)).toBe(isBelow(root, given))
    }),
    { numRuns: 3000 },
  )
})
