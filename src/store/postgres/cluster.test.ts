import { afterAll, describe, expect, test } from 'vitest'
import { clusterKit, heard, nextSchema, texts, until } from '../../../test/kits/cluster.ts'
import { startPostgres } from '../../../test/kits/postgres.ts'
import { append, created, keysOf, opened, running, sent } from '../../../test/kits/store.ts'
import type { Store } from '../../runtime/kernel/store-port.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { viewsEqual } from '../rebuild.ts'

const postgres = await startPostgres()
afterAll(() => postgres?.stop())
const { open } = clusterKit(postgres)

/** Set it to 500 to be more certain. */
const ringRounds = Number(process.env['TIELINE_RING_ROUNDS'] ?? 60)
const ringsMsMax = 30_000 + ringRounds * 1000

describe.skipIf(postgres === null)('two nodes on one PostgreSQL', () => {
  test('what one commits, the other reads in the same order, with hints', async () => {
    const schema = nextSchema()
    const [one, other] = [await open(schema), await open(schema)]
    const hints = heard(other)
    await append(one, created('ses_a'), sent('ses_a', 'turn_a'))
    await until(() => other.lastSeq() === 2)
    expect(hints.map(({ kind }) => kind)).toEqual(['turn.queued', 'appended'])
    await append(other, created('ses_b'))
    await until(() => one.lastSeq() === 3)
    expect(await texts(one)).toEqual(await texts(other))
    expect((await one.session('ses_b'))?.agent).toBe('b')
  })

  test('a transaction sees what the other has committed under its key, also where no hint came', async () => {
    const schema = nextSchema()
    const [one, other] = [await open(schema), await open(schema)]
    await append(one, created('ses_a'))
    const taken: number[] = []
    const take = (store: Store, n: number): Promise<void> =>
      store.transact(keysOf('ses_a'), async (tx) => {
        const { queued } = await tx.session('ses_a')
        taken.push(queued)
        tx.append(sent('ses_a', `turn_${n}`))
      })
    await Promise.all(Array.from({ length: 60 }, (_, n) => take(n % 2 === 0 ? one : other, n + 100)))
    expect(taken.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, n) => n))
    await Promise.all([one.look(), other.look()])
    for (const store of [one, other]) expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
  })

  test('R10: nobody who follows the log misses a commit, while many write', async () => {
    const schema = nextSchema()
    const nodes = [await open(schema), await open(schema), await open(schema)]
    const [reader] = nodes
    if (reader === undefined) throw new Error('there are three')
    const seen: number[] = []
    let isOver = false
    const following = (async () => {
      for (let after = 0; ;) {
        const last = isOver
        const page = await reader.read(after, {}, 7)
        seen.push(...page.events.map(({ seq }) => seq))
        after = page.next
        if (page.events.length === 0 && last) return
        if (page.events.length === 0) await systemClock.sleep(1)
      }
    })()
    await Promise.all(
      nodes.flatMap((store, at) =>
        Array.from({ length: 100 }, (_, n) => append(store, created(`ses_${at}-${n}`))),
      ),
    )
    await reader.look()
    isOver = true
    await following
    expect(seen).toEqual(Array.from({ length: 300 }, (_, n) => n + 1))
  })

  const call = (from: string, to: string, n: number) => async (store: Store) =>
    store.transact(
      [`session:ses_${from}`, `session:ses_${to}`, 'flow:flow_1', `call:call_${from}-${n}`],
      async (tx) => {
        const facts = await tx.open({
          call: `call_${from}-${n}`,
          callerTurn: `turn_${from}`,
          target: `ses_${to}`,
        })
        if (facts?.target?.waitPath !== null) return 'refused'
        tx.append(
          opened({ from: `ses_${from}`, in: `turn_${from}`, call: `call_${from}-${n}`, to: `ses_${to}` }),
        )
        return 'opened'
      },
    )

  test(
    'R5: of two calls that close a ring on two nodes at once, exactly one is refused',
    async () => {
      const schema = nextSchema()
      const [one, other] = [await open(schema), await open(schema)]
      for (let n = 0; n < ringRounds; n += 1) {
        await append(one, ...running(`a${n}`), ...running(`b${n}`))
        const answers = await Promise.all([call(`a${n}`, `b${n}`, 1)(one), call(`b${n}`, `a${n}`, 2)(other)])
        expect(answers.toSorted()).toEqual(['opened', 'refused'])
      }
    },
    ringsMsMax,
  )

  test(
    'R5: of three calls that close a ring on three nodes at once, exactly one is refused',
    async () => {
      const schema = nextSchema()
      const nodes = [await open(schema), await open(schema), await open(schema)]
      const [one] = nodes
      for (let n = 0; n < ringRounds / 2; n += 1) {
        const names = [`a${n}`, `b${n}`, `c${n}`]
        for (const name of names) await append(one as Store, ...running(name))
        const answers = await Promise.all(
          nodes.map((store, at) => call(names[at] ?? '', names[(at + 1) % 3] ?? '', at)(store)),
        )
        expect(answers.toSorted()).toEqual(['opened', 'opened', 'refused'])
      }
    },
    ringsMsMax,
  )
})
