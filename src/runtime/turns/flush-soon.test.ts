import { expect, test } from 'vitest'
import { world, virtualClock, type World } from '../../../test/kits/world.ts'
import { sqliteStore, type SqliteStore } from '../../store/sqlite.ts'
import type { Driver, Steps, Tool } from '../kernel/ports.ts'
import { AppendFault, type Tx } from '../kernel/store-port.ts'

type Transact = SqliteStore['transact']

/** A world whose transactions pass through `change`. */
async function worldWith(
  driver: Driver,
  change: (transact: Transact) => Transact,
  tools: Tool[] = [],
): Promise<World> {
  const clock = virtualClock()
  const store = sqliteStore({ directory: ':memory:', now: () => clock.now() })
  const changed = Object.create(store, {
    transact: { value: change((keys, work) => store.transact(keys, work)) },
  }) as SqliteStore
  return world({ agents: { a: { driver } }, store: changed, clock, tools })
}

/** Asks a model for each word; `until` is what the answer waits for. */
const asking = (
  words: readonly string[],
  asked: string[],
  until: (word: string) => Promise<void> = async () => undefined,
): Driver => ({
  async run(_turn, steps) {
    for (const word of words)
      await steps.step('model', 'm', { word }, async () => {
        asked.push(word)
        await until(word)
        return { value: { text: word }, usage: { input: 5, output: 5, estimated: false } }
      })
    return { outcome: 'completed', output: 'finished', error: null, iterations: words.length }
  },
})

const listAnswers = async (w: World): Promise<unknown[]> =>
  (await w.events('step.ended')).map(({ event }) => (event.output as { text: string }).text)

test('an answer is written while the next request is under way', async () => {
  const asked: string[] = []
  const never = (): Promise<void> => new Promise(() => undefined)
  const w = await world({
    agents: {
      a: { driver: asking(['one', 'two'], asked, (word) => (word === 'two' ? never() : Promise.resolve())) },
    },
  })
  void w.ask('a', 'go')
  await w.rest()
  expect(asked).toEqual(['one', 'two'])
  expect(await listAnswers(w)).toEqual(['one'])
})

test('a crash repeats two requests at most: the third waits until the first answer is durable', async () => {
  const asked: string[] = []
  let goOn = (): void => undefined
  const w = await worldWith(asking(['one', 'two', 'three', 'four'], asked), (transact) => (keys, work) => {
    const made = transact(keys, work)
    // The disk takes its time with the first answer.
    return asked.length === 1 ? new Promise((resolve) => (goOn = () => resolve(made))) : made
  })
  const run = w.ask('a', 'go')
  await w.rest()
  expect(asked).toEqual(['one', 'two'])
  goOn()
  await w.until(run)
  expect(await listAnswers(w)).toEqual(['one', 'two', 'three', 'four'])
})

test('the end of a turn takes along the answer before it, in one commit', async () => {
  const w = await world({ agents: { a: { driver: asking(['one', 'two'], []) } } })
  await w.rest()
  const before = w.store.commits()
  await w.until(w.ask('a', 'go'))
  // One opens the turn, one ends it.
  expect(w.store.commits() - before).toBe(2)
  expect(await listAnswers(w)).toEqual(['one', 'two'])
})

test('R10: a flush that is decided again writes the same answers, once', async () => {
  const never = (): Promise<void> => new Promise(() => undefined)
  const until = (word: string): Promise<void> => (word === 'two' ? never() : Promise.resolve())
  const w = await worldWith(
    asking(['one', 'two'], [], until),
    (transact) => (keys, work) =>
      transact(keys, async (tx: Tx) => {
        await work({ ...tx, append: () => undefined })
        return work(tx)
      }),
  )
  void w.ask('a', 'go')
  await w.rest()
  expect(await listAnswers(w)).toEqual(['one'])
})

test('R10: where nobody knows whether an answer was written, its turn stops, and is taken up again', async () => {
  const asked: string[] = []
  let lost = 0
  const until = (): Promise<void> => (asked.length === 2 ? new Promise(() => undefined) : Promise.resolve())
  const w = await worldWith(asking(['one', 'two'], asked, until), (transact) => async (keys, work) => {
    if (asked.length !== 1 || lost > 0) return transact(keys, work)
    lost += 1
    // Its events are taken, and never come to the log.
    await transact(keys, (tx) => work({ ...tx, append: () => undefined }))
    throw new Error('the disk is gone')
  })
  void w.ask('a', 'go').then(null, () => undefined)
  // Its driver does not hear that it should stop, and is left behind after a grace time.
  await w.pass(8000)
  expect(lost).toBe(1)
  expect(asked).toEqual(['one', 'two', 'one', 'two'])
  expect(await listAnswers(w)).toEqual(['one', 'two'])
  expect((await w.events('turn.ended')).map(({ event }) => event.outcome)).toEqual(['completed'])
})

test('an answer that cannot be written fails its turn, however it was to be written', async () => {
  const asked: string[] = []
  const w = await worldWith(
    asking(['one', 'two', 'three'], asked),
    (transact) => (keys, work) =>
      transact(keys, (tx) =>
        work({
          ...tx,
          append: (...events) => {
            const bad = events.some(({ type }) => type === 'step.ended')
            if (bad) throw new AppendFault('an event could not be recorded')
            tx.append(...events)
          },
        }),
      ),
  )
  const { outcome, error } = await w.run('a', 'go')
  expect(asked).toEqual(['one', 'two'])
  expect([outcome, error]).toEqual(['failed', expect.stringContaining('not_recorded')])
})

test('a turn that was told to stop was charged for answers that are not in the log, and did not say so', async () => {
  const asked: string[] = []
  const never = (word: string): Promise<void> =>
    word === 'two' ? new Promise(() => undefined) : Promise.resolve()
  const w = await worldWith(
    asking(['one', 'two'], asked, never),
    (transact) => (keys, work) =>
      transact(keys, (tx) =>
        work({
          ...tx,
          append: (...events) => {
            const bad = events.some(({ type }) => type === 'step.ended')
            if (bad) throw new AppendFault('an event could not be recorded')
            tx.append(...events)
          },
        }),
      ),
  )
  await w.run('a', 'go', { timeoutMs: 1000 })
  await w.pass(8000)
  expect((await w.events('turn.ended')).map(({ event }) => event)).toMatchObject([
    {
      outcome: 'timed_out',
      error: 'timed_out: the turn was stopped; not_recorded: an event could not be recorded',
      tokensUsed: 10,
    },
  ])
})

test('a turn that had its answer failed, because a fact could not be read in the moment of its end', async () => {
  let failures = 0
  const unread =
    (transact: Transact): Transact =>
    (keys, work) =>
      transact(keys, (tx) =>
        work({
          ...tx,
          activation: (turn) =>
            (failures += 1) === 1 ? Promise.reject(new Error('disk I/O error')) : tx.activation(turn),
        }),
      )
  const w = await worldWith(asking(['one'], []), unread)
  expect(await w.run('a', 'go')).toMatchObject({ outcome: 'completed', output: 'finished', error: null })
  expect(failures).toBe(2)
  expect(await listAnswers(w)).toEqual(['one'])
})

test('R10: what was done after a commit took the answers along stays behind them in the log', async () => {
  const held: (() => void)[] = []
  let [isHeld, looked] = [false, false]
  const makeTool = (name: string, effect: Tool['effect'], run: () => void): Tool => ({
    name,
    effect,
    calling: false,
    describe: () => ({ name, description: '', input: {} }),
    run: async () => {
      run()
      return { ok: true, value: name }
    },
  })
  const answer = async (steps: Steps, word: string): Promise<void> =>
    void (await steps.step('model', 'm', { word }, async () => ({
      value: { text: word },
      usage: { input: 5, output: 5, estimated: false },
    })))
  const driver: Driver = {
    async run(_turn, steps) {
      await answer(steps, 'one')
      // From here on the disk takes its time.
      isHeld = true
      await answer(steps, 'two')
      await Promise.all([steps.tool('write', {}), steps.tool('look', {})])
      return { outcome: 'completed', output: 'finished', error: null, iterations: 2 }
    },
  }
  const change =
    (transact: Transact): Transact =>
    async (keys, work) => {
      if (isHeld) await new Promise<void>((go) => held.push(go))
      return transact(keys, work)
    }
  const tools = [makeTool('write', 'write', () => undefined), makeTool('look', 'read', () => (looked = true))]
  const w = await worldWith(driver, change, tools)
  const run = w.ask('a', 'go')
  await w.rest()
  expect([looked, held.length]).toEqual([true, 2])
  isHeld = false
  for (const go of held) go()
  await w.until(run)
  expect((await w.events('step.ended')).map(({ event }) => event.name)).toEqual(['m', 'm', 'look', 'write'])
})
