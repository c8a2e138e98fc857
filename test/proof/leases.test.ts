/** What the laws of the simulator know of leases. */
import { expect, test } from 'vitest'
import { checkOverdue } from '../../sim/laws.ts'
import { Leases } from '../../sim/leases.ts'
import { Ledger, type LedgerTurn } from '../../sim/ledger.ts'

const beat = { ttlMs: 5000, isSure: true, isLate: false }

test('R4: the lease that a dead node got when its database answered was not waited for', () => {
  const ledger = new Ledger({ jumpsMs: 0, limitsOffMs: 0 })
  const turn = { id: 'turn_a', node: 'node_1', state: 'running', deadline: 1000, begunAt: 0 }
  ledger.live.set('ses_a', new Set([turn as LedgerTurn]))
  const long = { ...beat, ttlMs: 9000 }
  const isBroken = (now: number): boolean =>
    checkOverdue(ledger, now, 0, { callMs: 3000, turnMs: 9000 }) !== null
  ledger.leases.note('node_1', long, { wall: 500, now: 500 })
  expect([9000, 10_001].map(isBroken)).toEqual([false, true])
  // It was sent before the process ended, and the database took its time.
  ledger.leases.note('node_1', { ...long, isLate: true }, { wall: 5700, now: 5700 })
  expect([14_700, 14_701].map(isBroken)).toEqual([false, true])
})

test('R6: a lease that was renewed while others decided was said to have been ignored', () => {
  const leases = new Leases()
  leases.note('node_1', beat, { wall: 0, now: 0 })
  leases.note('node_1', beat, { wall: 4000, now: 4000 })
  expect([leases.until('node_1'), leases.renewedAt('node_1')]).toEqual([9000, 0])
  leases.note('node_1', beat, { wall: 9000, now: 10_000 })
  expect([leases.until('node_1'), leases.renewedAt('node_1')]).toEqual([14_000, 10_000])
  // One that failed may be there all the same: nobody knows which lease the node has.
  leases.note('node_1', { ...beat, isSure: false }, { wall: 8000, now: 12_000 })
  expect([leases.until('node_1'), leases.until('node_2'), leases.until(null)]).toEqual([13_000, 0, 0])
})
