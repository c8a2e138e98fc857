import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { clusterKit, nextSchema } from '../../../test/kits/cluster.ts'
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

  test('who has committed sees it, also where others came in between with more than is read at once', async () => {
    const schema = nextSchema()
    const { proxy, store } = await through(schema)
    const other = await open(schema)
    await append(store, created('ses_a'))
    proxy.delay(400)
    const decided = Promise.withResolvers<void>()
    const done = store.transact(keysOf('ses_b'), async (tx) => {
      tx.append(created('ses_b'))
      decided.resolve()
    })
    await decided.promise
    // Its commit is on its way.
    await Promise.all(Array.from({ length: 600 }, (_, n) => append(other, created(`ses_c${n}`))))
    await done
    const own = await store.read(0, { sessions: ['ses_b'] }, 10)
    expect(own.events.map(({ seq }) => seq)).toEqual([602])
  })
})
