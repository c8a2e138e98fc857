import { expect, test } from 'vitest'
import { toNanoUsd } from '../../model/money.ts'
import {
  createDaySpending,
  holdOfDay,
  lookAtDay,
  payOfDay,
  readDayBudget,
  recordedOfDay,
} from './day-spending.ts'
import type { Runtime } from './runtime.ts'

type Row = { cwd: string; nanoUsd: number }

/** A server that may spend so many dollars a day, and projects below /p and /q that have their own limit. */
function spender({ server, project }: { server?: number; project?: number }) {
  const log: { rows: Row[]; broken: boolean } = { rows: [], broken: false }
  const known = (cwd: string) => {
    const own = ['/p', '/q'].find((dir) => cwd.startsWith(dir)) ?? null
    return {
      ownLimits: { dayUsdMax: server },
      limits: { dayUsdMax: own === null ? server : project },
      project: own,
    }
  }
  const runtime = {
    store: {
      spentOn: async () => {
        if (log.broken) throw new Error('cannot be read')
        return log.rows
      },
    },
    clock: { now: () => 0 },
    limits: { dayUsdMax: server },
    projects: { known },
    spending: createDaySpending(),
  } as unknown as Runtime
  return { runtime, log, used: (cwd = '/a') => readDayBudget(runtime, cwd) }
}

test('without a budget for a day nobody looks, and there is none', async () => {
  const { runtime, log, used } = spender({})
  log.broken = true
  await lookAtDay(runtime, '/a')
  expect(used()).toBeNull()
})

test('R7: what the log has, what was recorded since, what was paid and what is held count once each', async () => {
  const { runtime, log, used } = spender({ server: 1 })
  log.rows = [{ cwd: '/a', nanoUsd: 100 }]
  await lookAtDay(runtime, '/a')
  expect(used()).toEqual({ of: 'server', max: toNanoUsd(1), used: 100 })
  const release = holdOfDay(runtime, '/b', 50)
  expect(used()?.used).toBe(150)
  release()
  release()
  expect(used()?.used).toBe(100)
  payOfDay(runtime, '/b', 7)
  expect(used()?.used).toBe(107)
  recordedOfDay(runtime, '/b', 7)
  expect(used()?.used).toBe(107)
  log.rows = [...log.rows, { cwd: '/b', nanoUsd: 7 }]
  await lookAtDay(runtime, '/a')
  expect(used()?.used).toBe(107)
})

test('R7: a log that cannot be read takes nothing back', async () => {
  const { runtime, log, used } = spender({ server: 1 })
  log.rows = [{ cwd: '/a', nanoUsd: 100 }]
  await lookAtDay(runtime, '/a')
  payOfDay(runtime, '/a', 5)
  recordedOfDay(runtime, '/a', 5)
  log.broken = true
  await expect(lookAtDay(runtime, '/a')).rejects.toThrow('cannot be read')
  expect(used()?.used).toBe(105)
})

test('a project with a stricter limit has its own budget, of what was spent in it alone', async () => {
  const { runtime, log, used } = spender({ server: 1, project: 0.5 })
  log.rows = [
    { cwd: '/a', nanoUsd: 100 },
    { cwd: '/p/x', nanoUsd: 30 },
    { cwd: '/p/y', nanoUsd: 4 },
    { cwd: '/q', nanoUsd: 1000 },
  ]
  await lookAtDay(runtime, '/p/x')
  expect(used('/p/x')).toEqual({ of: 'project', max: toNanoUsd(0.5), used: 34 })
  expect(used('/a')).toEqual({ of: 'server', max: toNanoUsd(1), used: 1134 })
})

test('a project without a stricter limit spends a part of what the server may', async () => {
  const { runtime, log, used } = spender({ server: 1, project: 2 })
  log.rows = [{ cwd: '/p/x', nanoUsd: 30 }]
  await lookAtDay(runtime, '/p/x')
  expect(used('/p/x')).toEqual({ of: 'server', max: toNanoUsd(1), used: 30 })
})
