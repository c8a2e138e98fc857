/**
 * What was noticed in earlier runs, and by which test. A short run tries only these: what was noticed once must
 * be noticed ever after.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Verdict } from './judge.ts'
import type { Mutation } from './mutation.ts'

const Noticed = z.strictObject({
  /** The share of mutants that are killed, by the file of `src/model`. */
  model: z.record(z.string(), z.number().min(0).max(1)),
  /** What noticed each mutation made by hand. */
  byHand: z.record(z.string(), z.string()),
})
export type Noticed = z.infer<typeof Noticed>

const place = (root: string): string => join(root, 'mutants/noticed.json')
const nameOf = ({ file, says }: Mutation): string => `${file}: ${says}`

export const readNoticed = (root: string): Noticed =>
  existsSync(place(root))
    ? Noticed.parse(JSON.parse(readFileSync(place(root), 'utf8')))
    : { model: {}, byHand: {} }

export const wasNoticed = (noticed: Noticed, mutation: Mutation): boolean =>
  Object.hasOwn(noticed.byHand, nameOf(mutation))

/** Takes in a run: what it tried is replaced, what it did not try stays. */
export function recordNoticed(
  noticed: Noticed,
  verdicts: readonly Verdict[],
  shares: ReadonlyMap<string, number>,
): Noticed {
  const byHand = new Map(Object.entries(noticed.byHand))
  for (const { mutation, killedBy } of verdicts) {
    if (killedBy === null) byHand.delete(nameOf(mutation))
    else byHand.set(nameOf(mutation), killedBy)
  }
  return {
    model: sortKeys({ ...noticed.model, ...Object.fromEntries(shares) }),
    byHand: sortKeys(Object.fromEntries(byHand)),
  }
}

const sortKeys = <T>(record: Record<string, T>): Record<string, T> =>
  Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)))

export const writeNoticed = (root: string, noticed: Noticed): void =>
  writeFileSync(place(root), `${JSON.stringify(noticed, null, 1)}\n`)
