/** Which works run together: those that share no key, in the order in which they came. */
import type { Key, Tx } from '../../runtime/kernel/store-port.ts'

export type Job = {
  keys: readonly Key[]
  /** How often it was found to lack keys. */
  reruns: number
  /** What is known of the texts that it appends, once they were looked at. */
  known: unknown
  /** Until its texts were looked at. */
  held: boolean
  work: (tx: Tx) => Promise<unknown>
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}

const rerunsMax = 5
const worksMax = 256
/** PostgreSQL has a few thousand locks for all. A work that needs more takes the one that stands for all. */
const keysMax = 256

export const needsEverything = ({ reruns, keys }: Job): boolean => reruns > rerunsMax || keys.length > keysMax

/**
 * Takes the next group out of `jobs`. No work sees what another one of its group appends: the numbers of that
 * are not known yet. So works that share a key never meet, and the later one waits.
 */
export function takeGroup(jobs: Job[]): Job[] {
  const taken: Job[] = []
  const rest: Job[] = []
  const blocked = new Set<Key>()
  let keys = 0
  let closed = false
  for (const job of jobs) {
    const alone = needsEverything(job)
    const fits =
      !closed &&
      !job.held &&
      (taken.length === 0 || (!alone && taken.length < worksMax && keys + job.keys.length <= keysMax)) &&
      !job.keys.some((key) => blocked.has(key))
    for (const key of job.keys) blocked.add(key)
    // Nobody passes a work that has to be alone, or it might wait for ever.
    if (alone && !job.held) closed = true
    if (!fits) {
      rest.push(job)
      continue
    }
    taken.push(job)
    keys += job.keys.length
  }
  jobs.splice(0, jobs.length, ...rest)
  return taken
}
