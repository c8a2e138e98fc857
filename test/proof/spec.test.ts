/** The fast part of the proof, on every `npm test`; `npm run proof` runs all of it. */
import { describe, expect, test } from 'vitest'
import { cases } from '../../spec/checker/cases.ts'
import { search, type Model } from '../../spec/checker/search.ts'
import { conform } from '../../spec/conform.ts'
import { allJobs, expected, runJob } from '../../spec/jobs.ts'
import { lockstep, lockstepOptions } from '../../spec/lockstep.ts'

const smallMax = 10_000
const small = cases.filter(({ name }) => {
  const want = expected.checker[name]
  return typeof want === 'string' || (want !== undefined && want <= smallMax)
})

describe('our own checker, on the rules of src/model', () => {
  test.each(small.filter(({ expect: want }) => want === 'ok').map(({ name }) => name))(
    'R1, R3 to R7, R10 hold: %s',
    async (name) => {
      expect(await runJob({ kind: 'checker', name })).toMatchObject({ ok: true })
    },
  )

  test.each(small.filter(({ expect: want }) => want !== 'ok').map(({ name }) => name))(
    'a guard that is taken away is missed: %s',
    async (name) => {
      expect(await runJob({ kind: 'checker', name })).toMatchObject({ ok: true })
    },
  )
})

describe('the TLA+ text', () => {
  test.each(['Forget', 'MutEndBelow', 'WitRing'])('calls: %s is as pinned', async (name) => {
    expect(await runJob({ kind: 'calls', name })).toMatchObject({ ok: true })
  })

  test.each(['MutFence', 'WitTakenOver'])('activation: %s is as pinned', async (name) => {
    expect(await runJob({ kind: 'activation', name })).toMatchObject({ ok: true })
  })

  test.each(['Versions', 'MutLock', 'MutFind', 'MutNotice', 'WitLate'])(
    'cluster: %s is as pinned',
    async (name) => {
      expect(await runJob({ kind: 'cluster', name })).toMatchObject({ ok: true })
    },
  )

  test.each(['Race', 'MutRecheck', 'MutKeepAct', 'MutTogether', 'MutCheckBox', 'WitRace'])(
    'mail: %s is as pinned',
    async (name) => {
      expect(await runJob({ kind: 'mail', name })).toMatchObject({ ok: true })
    },
  )

  test('and the TypeScript steps allow the same', () => {
    expect(lockstep(5, 40)).toMatchObject({ states: 40, difference: null })
  })

  test('and a step too many is seen', () => {
    expect(lockstep(5, 200, { ...lockstepOptions, OwnPending: false }).difference).toContain(
      'only TypeScript goes to',
    )
  })

  test('every configuration and every case is pinned', () => {
    const jobs = allJobs().flatMap((job) =>
      job.kind === 'lockstep' || job.kind === 'store' ? [] : [`${job.kind} ${job.name}`],
    )
    const pinned = Object.entries(expected).flatMap(([kind, names]) =>
      Object.keys(names).map((name) => `${kind} ${name}`),
    )
    expect(pinned.toSorted()).toEqual(jobs.toSorted())
  })
})

describe('the real store', () => {
  test('R10: folds the events of the model to the same rows, tokens, waits and rings', async () => {
    expect(await conform(7, 300)).toMatchObject({ states: 300, difference: null })
  })

  test('and a fold that gives tokens back too early is seen', async () => {
    expect((await conform(7, 3000, { ...lockstepOptions, KeepHold: false })).difference).toContain(
      'the store',
    )
  })
})

/** Verdicts that TLC gives for the same tiny models. */
describe('the search itself', () => {
  const counter: Model<number> = {
    init: 0,
    key: String,
    steps: (at) => (at < 5 ? [{ action: 'Inc', next: at + 1 }] : []),
  }
  const holds = <S>(
    model: Model<S>,
    from: (state: S) => boolean,
    to: (state: S) => boolean,
    fair: (action: string) => boolean,
  ): boolean =>
    search(model, { invariants: {}, leadsTo: [{ name: 'goal', from, to }], weaklyFair: fair, statesMax: 100 })
      .violation === null

  test.each([
    ['0 ~> 5, fair', 0, 5, true, true],
    ['0 ~> 5, unfair', 0, 5, false, false],
    ['0 ~> 7, fair', 0, 7, true, false],
    ['5 ~> 7, fair', 5, 7, true, false],
    ['0 ~> 3, fair', 0, 3, true, true],
    ['5 ~> 5, unfair', 5, 5, false, true],
  ])('%s', (_, from, to, fair, verdict) =>
    expect(
      holds(
        counter,
        (at) => at === from,
        (at) => at === to,
        () => fair,
      ),
    ).toBe(verdict),
  )

  const pair: Model<string> = {
    init: '00',
    key: String,
    steps: (at) => [
      { action: 'A', next: `${at.startsWith('0') ? 1 : 0}${at.slice(1)}` },
      ...(at.endsWith('0') ? [{ action: 'B', next: `${at.slice(0, 1)}1` }] : []),
    ],
  }
  test('a fair action may starve another that is not', () =>
    expect(
      holds(
        pair,
        () => true,
        (at) => at.endsWith('1'),
        (action) => action === 'A',
      ),
    ).toBe(false))
  test('and cannot where both are fair', () =>
    expect(
      holds(
        pair,
        () => true,
        (at) => at.endsWith('1'),
        () => true,
      ),
    ).toBe(true))

  const blink: Model<string> = {
    init: 'off',
    key: String,
    steps: (at) =>
      at === 'off'
        ? [{ action: 'Tick', next: 'on' }]
        : at === 'on'
          ? [
              { action: 'Tick', next: 'off' },
              { action: 'Go', next: 'gone' },
            ]
          : [],
  }
  test('weak fairness does not help what is possible only now and then', () =>
    expect(
      holds(
        blink,
        () => true,
        (at) => at === 'gone',
        () => true,
      ),
    ).toBe(false))
})
