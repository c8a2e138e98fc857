import { createServer, connect as dial, type Socket } from 'node:net'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../../../test/kits/cluster.ts'
import { startPostgres } from '../../../test/kits/postgres.ts'
import { tcpProxy } from '../../../test/kits/tcp-proxy.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { connect, LinkFault, type Link } from './link.ts'

const postgres = await startPostgres()
afterAll(() => postgres?.stop())

const sleep = (ms: number): Promise<void> => systemClock.sleep(ms)
/** Longer than a test may take: what ends before has not waited for it. */
const flightMsMax = 120_000

describe.skipIf(postgres === null)('a connection whose other end is no longer there', () => {
  const through = async (): Promise<{ unplug: () => void; link: Link }> => {
    const proxy = await tcpProxy(postgres?.port ?? 0)
    onTestFinished(() => proxy.close())
    const url = `postgres://tieline@127.0.0.1:${proxy.port}/postgres`
    const link = await connect({ url, sleep, flightMsMax })
    onTestFinished(() => link.close())
    return { unplug: () => proxy.unplug(), link }
  }

  test('is given up long before a question has used up its time', async () => {
    const { unplug, link } = await through()
    await link.run('select 1')
    unplug()
    await expect(link.run('select 1')).rejects.toThrow(LinkFault)
    expect(link.isOpen()).toBe(false)
  })

  test('is given up when PostgreSQL, which was killed meanwhile, is back', async () => {
    const { unplug, link } = await through()
    unplug()
    await postgres?.kill()
    let isOver = false
    const asked = link.run('select 1').finally(() => (isOver = true))
    asked.catch(() => undefined)
    // While nobody can be asked about it, nothing is known.
    await sleep(700)
    expect(isOver).toBe(false)
    await postgres?.start()
    await expect(asked).rejects.toThrow(LinkFault)
  })

  test('is not taken for one that waits for a key, or that works', async () => {
    const { link } = await through()
    const other = await connect({ url: postgres?.url ?? '', flightMsMax })
    onTestFinished(() => other.close())
    await other.run('select pg_advisory_lock(7)')
    const waiting = link.run('select pg_advisory_lock(7); select 1 as one')
    await sleep(1500)
    await other.run('select pg_advisory_unlock(7)')
    expect((await waiting).at(-1)?.rows).toEqual([{ one: '1' }])
    expect((await link.run('select pg_sleep(1.5), 2 as two')).at(-1)?.rows[0]?.['two']).toBe('2')
  })
})

describe.skipIf(postgres === null)('a connection that is made', () => {
  test('is made by a later try where an earlier one hears nothing', async () => {
    const open: Socket[] = []
    // The first is taken and never answered.
    const server = createServer((near) => {
      open.push(near)
      near.on('error', () => undefined)
      if (open.length === 1) return
      const far = dial(postgres?.port ?? 0, '127.0.0.1')
      far.on('error', () => undefined)
      near.pipe(far).pipe(near)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      for (const socket of open) socket.destroy()
      server.close()
    })
    const { port } = server.address() as { port: number }
    let begun = 1
    const link = await connect({
      url: `postgres://tieline@127.0.0.1:${port}/postgres`,
      sleep: async (ms) => {
        if (ms === 1000) begun += 1
        await sleep(20)
      },
    })
    expect((await link.run('select 1 as one'))[0]?.rows).toEqual([{ one: '1' }])
    expect([begun > 1, begun <= 5]).toEqual([true, true])
    link.close()
  })

  test('says that it has ended only if it was made', async () => {
    const ended: string[] = []
    const nowhere = 'postgres://tieline@127.0.0.1:1/postgres'
    await expect(connect({ url: nowhere, sleep, onEnd: () => ended.push('nowhere') })).rejects.toThrow(
      LinkFault,
    )
    const link = await connect({ url: postgres?.url ?? '', sleep, onEnd: () => ended.push('made') })
    link.close()
    await until(() => ended.length > 0)
    expect(ended).toEqual(['made'])
  })

  test('is not said to have ended because a try beside it came later and was not needed', async () => {
    const near: Socket[] = []
    const join = (one: Socket): void => {
      const far = dial(postgres?.port ?? 0, '127.0.0.1')
      far.on('error', () => undefined)
      one.pipe(far).pipe(one)
    }
    // The first is answered when the second has long been made.
    const server = createServer((one) => {
      one.on('error', () => undefined)
      if (near.push(one) > 1) join(one)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      for (const one of near) one.destroy()
      server.close()
    })
    const { port } = server.address() as { port: number }
    let ended = 0
    const link = await connect({
      url: `postgres://tieline@127.0.0.1:${port}/postgres`,
      sleep: () => sleep(20),
      onEnd: () => (ended += 1),
    })
    const [first] = near as [Socket]
    join(first)
    await until(() => first.destroyed)
    expect([ended, link.isOpen()]).toEqual([0, true])
    link.close()
    expect(ended).toBe(1)
  })
})
