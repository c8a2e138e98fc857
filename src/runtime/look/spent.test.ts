import { expect, test } from 'vitest'
import type { TurnRow } from '../../model/facts.ts'
import type { TurnId } from '../../model/id.ts'
import { nothingSpent } from '../../model/money.ts'
import type { Store } from '../kernel/store-port.ts'
import { greaterAmount, noAmount, readSpent } from './spent.ts'

const row = (id: TurnId, state: TurnRow['state'], tokensUsed: number, callerTurn: TurnId | null): TurnRow =>
  ({
    id,
    session: 'ses_1',
    state,
    openedSeq: 1,
    tokensUsed,
    spent: nothingSpent,
    call: callerTurn === null ? null : { callerTurn },
  }) as unknown as TurnRow

/** A log of steps, each of a turn, with what it used. */
const logOf = (steps: [TurnId, number][]): Pick<Store, 'read'> =>
  ({
    read: async () => ({
      events: steps.map(([turn, input], index) => ({
        seq: index + 1,
        at: 0,
        event: { type: 'step.ended', turn, usage: { input, output: 1, estimated: false } },
      })),
      more: false,
      next: steps.length,
    }),
  }) as unknown as Pick<Store, 'read'>

test('what a turn called counts for it and for all above it, and each token once in all', async () => {
  const rows = [
    row('turn_1', 'running', 0, null),
    row('turn_2', 'ended', 20, 'turn_1'),
    row('turn_3', 'ended', 300, 'turn_2'),
  ]
  const { total, of } = await readSpent(logOf([['turn_1', 4]]), rows)
  expect(total.tokens).toBe(325)
  expect(rows.map(({ id }) => of.get(id)?.tokens)).toEqual([325, 320, 300])
})

test('of a turn that runs its own recorded steps count, and those of no other turn', async () => {
  const log = logOf([
    ['turn_1', 4],
    ['turn_9', 50],
    ['turn_1', 6],
  ])
  expect((await readSpent(log, [row('turn_1', 'running', 0, null)])).total.tokens).toBe(12)
  expect((await readSpent(log, [row('turn_1', 'ended', 7, null)])).total.tokens).toBe(7)
})

test('of two counts of the same the greater one is right', () => {
  const some = { tokens: 3, spent: nothingSpent }
  expect([greaterAmount(noAmount, some), greaterAmount(some, noAmount)]).toEqual([some, some])
})
