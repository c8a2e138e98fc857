import { expect, test } from 'vitest'
import type { TurnRow } from '../../model/facts.ts'
import { describeBusy } from './explain-busy.ts'

const row = (call: { deadline: number } | null): TurnRow =>
  ({
    id: 'turn_a',
    session: 'ses_a',
    grant: { agent: 'a', tokensMax: null },
    call,
    openedAt: 0,
    deadline: 100,
    stopping: null,
    node: null,
  }) as unknown as TurnRow

test('a turn is shown with the deadline that comes first, its own or that of its call', () => {
  const deadlines = [row(null), row({ deadline: 40 }), row({ deadline: 400 })].map(
    (turn) => describeBusy(turn, [], '').deadline,
  )
  expect(deadlines).toEqual([100, 40, 100])
})
