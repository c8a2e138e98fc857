import { afterAll, describe, expect, test } from 'vitest'
import { defineDriver } from '../../src/define.ts'
import type { TielineOptions } from '../../src/line.ts'
import { systemClock } from '../../src/runtime/kernel/system-clock.ts'
import { viewsEqual } from '../../src/store/rebuild.ts'
import { freshDatabase, openNode, scratch } from '../kits/cluster-lines.ts'
import { until } from '../kits/cluster.ts'
import { delegate } from '../kits/delegate.ts'
import { startPostgres } from '../kits/postgres.ts'

const postgres = await startPostgres()
afterAll(() => postgres?.stop())

type Agents = NonNullable<TielineOptions['agents']>

const boss = delegate('worker')

describe.skipIf(postgres === null)('a cluster of two nodes', () => {
  test('an agent with a label is called on one node and runs on the other; its text streams back', async () => {
    const url = await freshDatabase(postgres)
    const where: string[] = []
    const worker = (name: string): Agents[string] => ({
      runsOn: 'gpu',
      script: async (turn) => {
        where.push(name)
        for (let n = 0; n < 10; n += 1) {
          turn.say(`${n} `)
          await systemClock.sleep(30)
        }
        return `done: ${turn.task}`
      },
    })
    const a = await openNode(url, { name: 'a', agents: { boss, worker: worker('a') } })
    await openNode(url, { name: 'b', labels: ['gpu'], agents: { boss, worker: worker('b') } })
    const heard: string[] = []
    a.onDelta(({ text }) => heard.push(text))
    const run = await a.run('boss', 'add', { timeoutMs: 20_000 })
    expect([run.outcome, run.output, where]).toEqual(['completed', 'done: add', ['b']])
    expect(heard.join('')).toContain('9 ')
    const listed = await a.desks.as({}).log.nodes()
    expect(listed).toMatchObject({
      nodes: [
        { name: 'a', labels: [], alive: true },
        { name: 'b', labels: ['gpu'], alive: true },
      ],
    })
    expect(viewsEqual(a.store.db)).toEqual({ equal: true, difference: null })
  })

  test('work that no node may run waits until one comes that may', async () => {
    const url = await freshDatabase(postgres)
    const worker: Agents[string] = { runsOn: 'gpu', script: async () => 'done' }
    const a = await openNode(url, { name: 'a', agents: { worker } })
    const run = a.run('worker', 'go', { timeoutMs: 20_000 })
    await until(async () => (await a.store.lists.counts()).queued === 1)
    const [session] = await a.store.sessions({ agent: 'worker' }, 1)
    const state = await a.sessions.state(session?.id ?? '')
    expect(state).toMatchObject({ status: 'idle', isActive: true, queued: 1 })
    await openNode(url, { name: 'b', labels: ['gpu'], agents: { worker } })
    expect((await run).output).toBe('done')
  })

  test('a node that closes hands its turns over, and they go on from their record', async () => {
    const url = await freshDatabase(postgres)
    const steps: string[] = []
    const hold = Promise.withResolvers<void>()
    const agents = (name: string): Agents => ({
      slow: {
        tools: ['write'],
        driver: defineDriver({
          async run(_turn, recorded, signal) {
            const usage = { input: 1, output: 1, estimated: true }
            const first = await recorded.step('model', 'm', {}, async () => {
              steps.push(`first on ${name}`)
              return { value: `first on ${name}`, usage }
            })
            await recorded.tool('write', { path: 'a.txt', content: name })
            if (name === 'a') await Promise.race([hold.promise, untilAborted(signal)])
            return `${first}, ended on ${name}`
          },
        }),
      },
    })
    const a = await openNode(url, { name: 'a', agents: agents('a') })
    const b = await openNode(url, { name: 'b', agents: agents('b') })
    const run = a.run('slow', 'go', { cwd: scratch(), timeoutMs: 30_000 })
    const lost = Promise.resolve(run).catch(() => 'the node has closed')
    await until(async () => (await b.store.read(0, { types: ['step.ended'] }, 10)).events.length > 0)
    const since = systemClock.elapsed()
    await a.close()
    await lost
    const ends = async () => (await b.store.read(0, { types: ['turn.ended'] }, 10)).events
    await until(async () => (await ends()).length > 0)
    const [end] = await ends()
    expect(end?.event).toMatchObject({ outcome: 'completed', output: 'first on a, ended on b' })
    expect(steps).toEqual(['first on a'])
    expect(systemClock.elapsed() - since).toBeLessThan(5000)
  })
})

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
