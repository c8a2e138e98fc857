import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { clusterKit, nextSchema, until } from '../../../test/kits/cluster.ts'
import { startPostgres } from '../../../test/kits/postgres.ts'
import { append, created, keysOf } from '../../../test/kits/store.ts'
import { tcpProxy } from '../../../test/kits/tcp-proxy.ts'

const postgres = await startPostgres()
afterAll(() => postgres?.stop())
const { open } = clusterKit(postgres)

describe.skipIf(postgres === null)('a node that loses its database', () => {
  const through = async (schema: string) => {
    const proxy = await tcpProxy(postgres?.port ?? 0)
    onTestFinished(() => proxy.close())
    const url = `postgres://tieline@127.0.0.1:${proxy.port}/postgres`
    return { proxy, store: await open(schema, { url }) }
  }

  test('R2: a lost answer is found once, also where more was committed since than is read at once', async () => {
    const schema = nextSchema()
    const { proxy, store } = await through(schema)
    const other = await open(schema)
    await append(store, created('ses_a'))
    let runs = 0
    proxy.loseAnswerTo('ses_b')
    const done = store.transact(keysOf('ses_b'), async (tx) => {
      runs += 1
      tx.append(created('ses_b'))
    })
    await until(() => proxy.lost() === 1)
    proxy.freeze()
    await Promise.all(Array.from({ length: 1100 }, (_, n) => append(other, created(`ses_c${n}`))))
    proxy.thaw()
    await done
    expect(runs).toBe(1)
    const kept = (await store.read(0, {}, 10_000)).events.map(({ event }) => event.session)
    expect([kept.length, kept.filter((session) => session === 'ses_b').length]).toEqual([1102, 1])
  })
})
