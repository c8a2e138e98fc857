/** Plays plans with a planted bug until the checker sees it. */
import { z } from 'zod'
import type { Bug } from './bug.ts'
import { makePlan } from './make-plan.ts'
import { plantedBugs } from './planted-bugs.ts'
import { play } from './play.ts'
import seedsFound from './found-bugs.json' with { type: 'json' }

/** Some seeds, with one of the planted bugs in each. */
export type BugJob = { kind: 'bug'; name: string; from: number; count: number }
export type BugReply = {
  kind: 'bug'
  job: BugJob
  /** Seeds in which the bug cannot show do not count. */
  plans: number
  found: { seed: number; failure: string } | null
}

export const bugNames: readonly string[] = plantedBugs.map((make) => make().name)

/** The seed that showed each bug in the last whole search: where it is looked for first. */
export const seedsKnown: Readonly<Record<string, number>> = z.record(z.string(), z.number()).parse(seedsFound)

function makeBug(name: string): Bug {
  const make = plantedBugs.find((candidate) => candidate().name === name)
  if (make === undefined)
    throw new Error(`no planted bug is called ${name}; there are ${bugNames.join(', ')}`)
  return make()
}

/** A plan counts only if the law that the bug takes a guard from is the first to be broken. */
export async function tryBug(job: BugJob): Promise<BugReply> {
  let plans = 0
  for (let seed = job.from; seed < job.from + job.count; seed += 1) {
    const plan = makePlan(seed)
    const bug = makeBug(job.name)
    if (bug.shows?.(plan) === false) continue
    plans += 1
    const { failure } = await play(plan, bug)
    if (failure?.startsWith(`${bug.law}:`) === true)
      return { kind: 'bug', job, plans, found: { seed, failure } }
  }
  return { kind: 'bug', job, plans, found: null }
}

export type Found = {
  name: string
  law: string
  says: string
  /** Null if it was not found. */
  seed: number | null
  /** How many it took, the seed that was known not counted. */
  plans: number
  failure: string
}

const seedsPerJob = 10
/** For bugs that show in few plans only. */
const seedsMax = 20_000

/** The search for one bug: the known seed first, then all seeds in their order. */
export class BugSearch {
  readonly #replies: BugReply[] = []
  readonly #bug: Bug
  readonly #plansMax: number
  #next = 1
  #known: number | null

  constructor(name: string, plansMax: number, known: number | null) {
    this.#bug = makeBug(name)
    this.#plansMax = plansMax
    this.#known = known
  }

  get isOver(): boolean {
    const plans = this.#replies.reduce((sum, reply) => sum + reply.plans, 0)
    return this.#replies.some(({ found }) => found !== null) || plans >= this.#plansMax
  }

  /** Null if there is nothing more to try. */
  take(): BugJob | null {
    const { name } = this.#bug
    const known = this.#known
    this.#known = null
    if (known !== null) return { kind: 'bug', name, from: known, count: 1 }
    if (this.isOver || this.#next > seedsMax) return null
    const from = this.#next
    this.#next += seedsPerJob
    return { kind: 'bug', name, from, count: seedsPerJob }
  }

  hear(reply: BugReply): void {
    this.#replies.push(reply)
  }

  /** Jobs end in any order; the first seed in theirs counts. */
  get found(): Found {
    const { name, law, says } = this.#bug
    const ordered = this.#replies.toSorted((a, b) => a.job.count - b.job.count || a.job.from - b.job.from)
    const last = ordered.findIndex(({ found }) => found !== null)
    const first = ordered[last]?.found ?? null
    const plans = ordered
      .slice(0, last + 1)
      .filter(({ job }) => job.count > 1)
      .reduce((sum, reply) => sum + reply.plans, 0)
    return { name, law, says, seed: first?.seed ?? null, plans, failure: first?.failure ?? '' }
  }
}

/** In this process, for a test. */
export async function findBug(name: string, plansMax: number): Promise<Found> {
  const search = new BugSearch(name, plansMax, seedsKnown[name] ?? null)
  for (let job = search.take(); job !== null && !search.isOver; job = search.take())
    search.hear(await tryBug(job))
  return search.found
}
