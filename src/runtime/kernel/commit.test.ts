/** R6 and R10 where they are kept: what a turn may commit, and what becomes of it if that fails. */
import { expect, test } from 'vitest'
import type { Activation } from '../../model/facts.ts'
import type { Event } from '../../model/event.ts'
import { assertOurs, commit, isOurs, settleCommits, takeBuffer } from './commit.ts'
import { createDaySpending } from './day-spending.ts'
import { Fenced } from './faults.ts'
import type { Running } from './running.ts'
import type { Runtime } from './runtime.ts'
import { AppendFault, type Store, type Tx } from './store-port.ts'

const event = (title: string): Event => ({ type: 'session.renamed', session: 'ses_1', turn: null, title })

const running = (more: Partial<Running> = {}): Running =>
  ({
    row: { id: 'turn_1', session: 'ses_1' },
    session: { cwd: '/' },
    epoch: 2,
    abort: new AbortController(),
    buffer: [event('one'), event('two')],
    answerBuffered: true,
    commits: new Set(),
    flushing: null,
    ...more,
  }) as unknown as Running

const runtime = (transact: (work: (tx: Tx) => Promise<unknown>) => Promise<unknown>): Runtime =>
  ({
    node: 'node_1',
    store: { transact: (_keys: unknown, work: (tx: Tx) => Promise<unknown>) => transact(work) } as Store,
    spending: createDaySpending(),
    brokenOff: new Set(),
    unrecordedWaiters: new Map(),
  }) as unknown as Runtime

const works = runtime((work) => work({} as Tx))
const titles = ({ buffer }: Running): unknown[] => buffer.map((one) => 'title' in one && one.title)

test('R6: only the activation that has the turn may commit for it', () => {
  const facts = (more: Partial<Activation>) =>
    ({ state: 'running', node: 'node_1', epoch: 2, ...more }) as unknown as Activation
  const stale = [
    facts({ epoch: 3 }),
    facts({ epoch: 1 }),
    facts({ node: 'node_2' }),
    facts({ state: 'ended' }),
    facts({ state: 'queued' }),
  ]
  expect(assertOurs(facts({}), running(), works)).toEqual(facts({}))
  expect(isOurs(facts({}), running(), works)).toBe(true)
  for (const one of [...stale, null, undefined])
    expect(() => assertOurs(one, running(), works)).toThrow(Fenced)
  expect(stale.map((one) => isOurs(one, running(), works))).toEqual(stale.map(() => false))
})

test('a commit takes what waits in the buffer, once, and is under way until it has settled', async () => {
  const one = running()
  const later = runtime(async (work) => {
    await new Promise((resolve) => setImmediate(resolve))
    return work({} as Tx)
  })
  const made = commit(later, one, [], async (_tx, buffered) => {
    one.buffer.push(event('three'))
    return [buffered.length, one.commits.size]
  })
  expect([one.buffer.length, one.answerBuffered]).toEqual([0, false])
  expect(await made).toEqual([2, 1])
  expect([titles(one), one.commits.size]).toEqual([['three'], 0])
})

test('R7: a turn that is ending commits nothing but its end, which takes the buffer', async () => {
  const one = running({ isEnding: true })
  await expect(commit(works, one, [], async () => 'made')).rejects.toThrow('turn_1 is ending')
  expect(titles(one)).toEqual(['one', 'two'])
  expect(await commit(works, one, [], async (_tx, buffered) => buffered.length, true)).toBe(2)
})

test('R7: a commit that waits for an earlier one is not made where its turn is ending by then', async () => {
  const { promise: done, resolve } = Promise.withResolvers<void>()
  const one = running({ flushing: { begun: true, held: [], done } })
  const made = commit(works, one, [], async () => 'made')
  one.isEnding = true
  resolve()
  await expect(made).rejects.toThrow('turn_1 is ending')
  expect(titles(one)).toEqual(['one', 'two'])
})

test('R10: what a refused commit held is put back in front, in its order', async () => {
  for (const fault of ['refused by the work', 'refused by the log']) {
    const one = running()
    const answer = commit(
      fault === 'refused by the work'
        ? works
        : runtime(async () => {
            throw new AppendFault(fault)
          }),
      one,
      [],
      async () => {
        throw new Error(fault)
      },
    )
    one.buffer.push(event('three'))
    await expect(answer).rejects.toThrow(fault)
    expect(titles(one)).toEqual(['one', 'two', 'three'])
    expect([one.answerBuffered, one.abort.signal.aborted]).toEqual([true, false])
  }
})

test('R10: a commit of which nobody knows whether it was made ends the activation, and is not made again', async () => {
  const lost = new Error('the disk is gone')
  let tries = 0
  const node = runtime(async () => {
    tries += 1
    throw lost
  })
  const told: unknown[] = []
  node.unrecordedWaiters.set('turn_1', new Set([(fault) => told.push(fault)]))
  const one = running()
  await expect(commit(node, one, [], async () => 'value')).rejects.toThrow(Fenced)
  const { reason } = one.abort.signal
  expect(reason).toBeInstanceOf(Fenced)
  expect(reason).toMatchObject({ cause: lost })
  expect([one.buffer, told, node.brokenOff.has('ses_1')]).toEqual([[], [reason], true])
  await expect(commit(node, one, [], async () => 'value')).rejects.toBe(reason)
  await expect(settleCommits(one)).rejects.toBe(reason)
  expect(tries).toBe(1)
})

test('R10: a commit waits for what is being written, whether that succeeds or not', async () => {
  for (const ends of ['resolve', 'reject'] as const) {
    const written = Promise.withResolvers<void>()
    const one = running({ flushing: { begun: true, held: [], done: written.promise } })
    let done = false
    const made = commit(works, one, [], async () => (done = true))
    await new Promise((resolve) => setImmediate(resolve))
    expect(done).toBe(false)
    written[ends](new Error('refused') as never)
    expect(await made).toBe(true)
  }
})

test('R10: the end of a turn waits for the commits that are under way', async () => {
  const under = Promise.withResolvers<void>()
  const one = running({ commits: new Set([under.promise]) })
  let settled = false
  const waits = settleCommits(one).then(() => (settled = true))
  await new Promise((resolve) => setImmediate(resolve))
  expect(settled).toBe(false)
  under.reject(new Error('refused'))
  await waits
})

test('what is taken from the buffer is gone from it', () => {
  const one = running()
  expect(takeBuffer(one)).toHaveLength(2)
  expect([takeBuffer(one), one.answerBuffered]).toEqual([[], false])
})
