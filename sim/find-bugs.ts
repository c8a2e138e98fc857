/** Plays plans with a planted bug until the checker sees it. */
import { makePlan } from './make-plan.ts'
import { plantedBugs } from './planted-bugs.ts'
import { play } from './play.ts'

export type Found = {
  name: string
  law: string
  says: string
  /** Null if it was not found. */
  plans: number | null
  failure: string
}

export const bugNames: readonly string[] = plantedBugs.map((make) => make().name)

/** A plan counts only if the law that the bug takes a guard from is the first to be broken. */
export async function findBug(name: string, plansMax: number, from = 1): Promise<Found> {
  const make = plantedBugs.find((candidate) => candidate().name === name)
  if (make === undefined)
    throw new Error(`no planted bug is called ${name}; there are ${bugNames.join(', ')}`)
  const { law, says, shows } = make()
  for (let seed = from, plans = 0; plans < plansMax; seed += 1) {
    const plan = makePlan(seed)
    if (shows?.(plan) === false) continue
    plans += 1
    const { failure } = await play(plan, make())
    if (failure?.startsWith(`${law}:`) === true) return { name, law, says, plans, failure }
  }
  return { name, law, says, plans: null, failure: '' }
}
