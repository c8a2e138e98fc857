/** Work whose cost depends on what others wrote, one item after the other, with others let in between. */
import type { Millis } from '../../model/id.ts'
import type { Runtime } from './runtime.ts'
import { nextRound } from './next-round.ts'

/** Others run after this time at the latest. */
const sliceMs = 8

/** Lets others run where the work since `from`, on the clock that only passes, took long; null where it did not. */
export const letOthersIn = ({ clock }: Pick<Runtime, 'clock'>, from: Millis): Promise<void> | null =>
  clock.elapsed() - from >= sliceMs ? nextRound() : null

/** What `work` makes of each item, in their order. */
export async function mapGently<T, U>(
  { clock }: Pick<Runtime, 'clock'>,
  items: readonly T[],
  work: (item: T) => Promise<U>,
): Promise<U[]> {
  const made: U[] = []
  let from = clock.elapsed()
  for (const item of items) {
    made.push(await work(item))
    if (clock.elapsed() - from < sliceMs) continue
    await nextRound()
    from = clock.elapsed()
  }
  return made
}
