import { expect, test } from 'vitest'
import type { Running } from '../kernel/running.ts'
import { tokensLeft } from './budget-left.ts'

const running = (tokensMax: number | null, tokensUsed: number, tokensTaken: number): Running =>
  ({ row: { grant: { tokensMax } }, tokensUsed, tokensTaken }) as unknown as Running

test('R7: what is used here and what calls below hold or have used is taken from the budget', () => {
  expect([
    tokensLeft(running(10, 3, 4)),
    tokensLeft(running(10, 3, 0)),
    tokensLeft(running(10, 3, 9)),
  ]).toEqual([3, 7, 0])
  expect(tokensLeft(running(null, 3, 4))).toBeNull()
})
