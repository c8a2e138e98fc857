/** What is asked for at the desk in a plan. */
import { deskDeeds, type DeskAct } from './desk-acts.ts'
import type { Random } from './random.ts'

/** Made first, so that the others find something. */
const first = ['create', 'draft', 'hire', 'fork'] as const

export function makeDesk(random: Random, horizonMs: number, many: number): DeskAct[] {
  return Array.from({ length: many }, (_, index): DeskAct => {
    const early = index < first.length
    return {
      at: early ? random.below(horizonMs >> 2) : random.below(horizonMs),
      node: random.below(4),
      do: early ? (first[index] ?? 'create') : random.pick(deskDeeds),
      a: random.below(8),
      b: random.below(8),
    }
  })
}
