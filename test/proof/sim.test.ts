/**
 * A small run of the simulator inside `npm test`: laws kept, same seed same log, every plan that ever failed,
 * and bugs that must be found.
 */
import { describe, expect, test } from 'vitest'
import regressions from '../../sim/regressions.json' with { type: 'json' }
import { BugSearch, findBug, tryBug, type BugJob } from '../../sim/find-bugs.ts'
import { makePlan } from '../../sim/make-plan.ts'
import { Plan } from '../../sim/plan.ts'
import { play } from '../../sim/play.ts'
import { normalizeReason, shrink } from '../../sim/shrink.ts'
import { plantedBugs } from '../../sim/planted-bugs.ts'

/** CI plays thousands more (`npm run sim`). */
const batches = Array.from({ length: 3 }, (_, index) => 1 + index * 25)

describe('the simulated world keeps every law', () => {
  test.each(batches)(
    'in 25 plans from seed %i',
    async (from) => {
      const broken: string[] = []
      for (let seed = from; seed < from + 25; seed += 1) {
        const { failure } = await play(makePlan(seed))
        if (failure !== null) broken.push(`seed ${seed}: ${failure}`)
      }
      expect(broken).toEqual([])
    },
    60_000,
  )

  test.each(regressions)('in a plan that once failed: $was', async ({ plan }) => {
    expect((await play(Plan.parse(plan))).failure).toBeNull()
  })
})

test('the same seed gives the same log, byte for byte', async () => {
  for (const seed of [3, 4, 5, 6])
    expect((await play(makePlan(seed))).digest).toBe((await play(makePlan(seed))).digest)
})

test.each([
  'no-wait-path',
  'nothing-below',
  'no-fence',
  'forgets-acts',
  'not-handed-over',
  'unnamed-flow',
  'open-without-flow',
  'open-without-target',
  'claim-without-session',
  'end-without-below',
])(
  'the planted bug %s is found',
  async (name) => {
    expect((await findBug(name, 400)).seed).not.toBeNull()
  },
  60_000,
)

test('R10: a fold of mail that skips a column is found by the fold that shares no code with it', async () => {
  const { failure } = await findBug('skips-column', 200)
  expect(failure).toMatch(/^R10: messages\.accepted_seq of \S+ is null; the log says \d+$/)
}, 60_000)

test('a bug that no longer shows in its known seed is searched for, and the first seed counts', async () => {
  const search = new BugSearch('nothing-below', 30, 1)
  const take = (): BugJob => {
    const job = search.take()
    if (job === null) throw new Error('nothing more is tried')
    return job
  }
  const known = await tryBug(take())
  expect(known).toMatchObject({ job: { from: 1, count: 1 }, found: null })
  search.hear(known)
  const [first, second] = [take(), take()]
  search.hear({ kind: 'bug', job: second, plans: 2, found: { seed: 12, failure: 'R3: later' } })
  expect(search.take()).toBeNull()
  search.hear(await tryBug(first))
  expect(search.found).toMatchObject({ seed: 3, plans: 3 })
}, 60_000)

test('a failing plan is cut down, and still fails for the same reason', async () => {
  const bug = () => plantedBugs.map((make) => make()).find(({ name }) => name === 'no-wait-path') ?? null
  const { seed, failure } = await findBug('no-wait-path', 200)
  const whole = makePlan(seed ?? 0)
  const { plan } = await shrink(whole, failure, bug(), 60)
  expect(plan.roots.length + plan.faults.length).toBeLessThan(whole.roots.length + whole.faults.length)
  expect(normalizeReason((await play(plan, bug())).failure ?? '')).toBe(normalizeReason(failure))
}, 60_000)
