import { expect, onTestFinished, test } from 'vitest'
import { clocks } from '../../../test/kits/cluster.ts'
import { startPostgres } from '../../../test/kits/postgres.ts'
import { LinkFault } from './link.ts'
import { openPatiently } from './open-patiently.ts'
import { postgresStore } from './postgres.ts'

const refused = new LinkFault('refused', { cause: Object.assign(new Error('no'), { code: 'ECONNREFUSED' }) })

test('a node that starts while its database is away starts when it is there', async () => {
  const postgres = await startPostgres()
  if (postgres === null) return
  onTestFinished(() => postgres.stop())
  await postgres.kill()
  const opening = postgresStore({ url: postgres.url, directory: ':memory:', ...clocks })
  await postgres.start()
  const store = await opening
  expect(store.health().state).toBe('ok')
  await store.close()
})

test('it waits for a few seconds and no longer, and not at all for what would stay as it is', async () => {
  let at = 0
  let tries = 0
  const virtual = { elapsed: () => at, sleep: async (ms: number) => void (at += ms) }
  const fail = (fault: unknown) => (): Promise<never> => {
    tries += 1
    return Promise.reject(fault as Error)
  }
  await expect(openPatiently(fail(refused), virtual)).rejects.toThrow('refused')
  expect([tries > 10, at > 10_000, at < 20_000]).toEqual([true, true, true])
  tries = 0
  const wrong = new LinkFault('no such role', { cause: Object.assign(new Error('no'), { code: '28000' }) })
  await expect(openPatiently(fail(wrong), virtual)).rejects.toThrow('no such role')
  await expect(openPatiently(fail(new Error('a bug')), virtual)).rejects.toThrow('a bug')
  expect(tries).toBe(2)
})
