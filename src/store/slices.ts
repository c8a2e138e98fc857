/** Long reads in slices, between which others run. */
import { nextRound } from '../runtime/kernel/next-round.ts'

/** After so many units of text others may run: a few milliseconds of reading and parsing. */
export const unitsPerSlice = 256 * 1024
/** A row costs something besides its text. */
export const unitsPerRow = 512

/** Runs work that yields after every slice. What it reads must not change in between. */
export async function runGently<T>(work: Generator<undefined, T>): Promise<T> {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
    await nextRound()
  }
}
