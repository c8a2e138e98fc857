import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { clusterKit, nextSchema, texts, until } from '../../../test/kits/cluster.ts'
import { startPostgres } from '../../../test/kits/postgres.ts'
import { append, created, keysOf, sent } from '../../../test/kits/store.ts'
import { tcpProxy } from '../../../test/kits/tcp-proxy.ts'
import type { SessionId } from '../../model/id.ts'
import { StoreUnavailable } from '../../runtime/kernel/store-health.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { viewsEqual } from '../rebuild.ts'

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

  test('R2: a commit whose answer was lost is found in the log, and is there once', async () => {
    const { proxy, store } = await through(nextSchema())
    await append(store, created('ses_a'))
    let runs = 0
    proxy.loseAnswerTo('ses_b')
    await store.transact(keysOf('ses_b'), async (tx) => {
      runs += 1
      tx.append(created('ses_b'))
    })
    expect([runs, proxy.lost()]).toEqual([1, 1])
    expect(await texts(store)).toEqual(['1 session.created ses_a', '2 session.created ses_b'])
    expect(viewsEqual(store.db).equal).toBe(true)
  })

  test('R2: a lost answer is found once, also where the connection is lost again meanwhile', async () => {
    const { proxy, store } = await through(nextSchema())
    await append(store, created('ses_a'))
    let runs = 0
    proxy.loseAnswerTo('ses_b')
    const done = store.transact(keysOf('ses_b'), async (tx) => {
      runs += 1
      tx.append(created('ses_b'))
    })
    await until(() => proxy.lost() === 1)
    // What follows when the commit was found in the log.
    proxy.loseFlight('rollback')
    await done
    await until(() => proxy.lost() === 2)
    expect(runs).toBe(1)
    expect(await texts(store)).toEqual(['1 session.created ses_a', '2 session.created ses_b'])
  })

  test('R2: a commit that never arrived is decided again, and is there once', async () => {
    const { proxy, store } = await through(nextSchema())
    await append(store, created('ses_a'))
    let runs = 0
    proxy.loseFlight('ses_b')
    await store.transact(keysOf('ses_b'), async (tx) => {
      runs += 1
      tx.append(created('ses_b'))
    })
    expect([runs, proxy.lost()]).toEqual([2, 1])
    expect(await texts(store)).toEqual(['1 session.created ses_a', '2 session.created ses_b'])
  })

  test('connections that are cut under load lose nothing and double nothing', async () => {
    const { proxy, store } = await through(nextSchema())
    const acknowledged: SessionId[] = []
    let isOver = false
    const writing = Array.from({ length: 8 }, async (_, at) => {
      for (let n = 0; !isOver; n += 1) {
        const session: SessionId = `ses_${at}-${n}`
        await append(store, created(session)).then(
          () => acknowledged.push(session),
          (fault: unknown) => expect(fault).toBeInstanceOf(StoreUnavailable),
        )
      }
    })
    // A busy machine writes less between two cuts.
    for (let n = 0; n < 10 || acknowledged.length <= 10; n += 1) {
      await systemClock.sleep(40)
      proxy.cut()
    }
    isOver = true
    await Promise.all(writing)
    // The cut may have left nothing open to look with.
    await until(() =>
      store.look().then(
        () => true,
        () => false,
      ),
    )
    const kept = (await store.read(0, {}, 100_000)).events.map(({ event }) => event.session)
    expect(new Set(kept).size).toBe(kept.length)
    expect(acknowledged.filter((session) => !kept.includes(session))).toEqual([])
    expect(acknowledged.length).toBeGreaterThan(10)
  })

  test('PostgreSQL killed and started again: refused meanwhile, nothing lost, and it goes on by itself', async () => {
    const own = await startPostgres()
    if (own === null) return
    onTestFinished(() => own.stop())
    const said: string[] = []
    const store = await open('tieline', { url: own.url, onHealth: ({ state }) => said.push(state) })
    await append(store, created('ses_a'))
    await own.kill()
    await expect(append(store, created('ses_b'))).rejects.toThrow(StoreUnavailable)
    expect(store.health().state).toBe('unavailable')
    expect((await store.session('ses_a'))?.agent).toBe('a')
    await own.start()
    const back = systemClock.elapsed()
    await until(() =>
      append(store, created(`ses_c${systemClock.elapsed()}`)).then(
        () => true,
        () => false,
      ),
    )
    expect(systemClock.elapsed() - back).toBeLessThan(2000)
    expect(said).toEqual(['unavailable', 'ok'])
    expect((await texts(store))[0]).toBe('1 session.created ses_a')
  })

  test('R1: a node that is frozen in a transaction loses its keys, and decides again when it is back', async () => {
    const schema = nextSchema()
    const { proxy, store: frozen } = await through(schema)
    const other = await open(schema)
    await append(frozen, created('ses_a'))
    let release = (): void => undefined
    const begun = new Promise<void>((resolve) => (release = resolve))
    let runs = 0
    const stale = frozen.transact(keysOf('ses_a'), async (tx) => {
      if ((runs += 1) === 1) proxy.freeze()
      release()
      tx.append(sent('ses_a', 'turn_stale'))
    })
    await begun
    await other.transact(keysOf('ses_a'), async (tx) => tx.append(sent('ses_a', 'turn_fresh')))
    proxy.thaw()
    await stale
    await other.look()
    const order = (await other.read(0, {}, 10)).events.map(({ event }) => event.turn)
    expect([runs, ...order]).toEqual([2, null, 'turn_fresh', 'turn_stale'])
  })

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
