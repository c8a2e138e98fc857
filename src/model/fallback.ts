/**
 * `fallback` of an agent: who does its work where it cannot, because it is over its limit, logged out or down. Only
 * before anything was begun: what was said, asked for or paid is not done again by somebody else.
 */
import { z } from 'zod'

/** Who was asked, who did it, and why. */
export const Moved = z.strictObject({ from: z.string(), to: z.string(), why: z.string() })
export type Moved = z.infer<typeof Moved>

/** What a turn has done so far. */
export type Doings = { said: string; tools: number; calls: number; tokensUsed: number }

export const hasBegun = ({ said, tools, calls, tokensUsed }: Doings): boolean =>
  said.trim() !== '' || tools > 0 || calls > 0 || tokensUsed > 0

/** Those after the one that was tried last, in their order. */
export function listNext(fallback: readonly string[], tried: string): readonly string[] {
  return fallback.slice(fallback.indexOf(tried) + 1)
}

export const describeMove = ({ from, to, why }: Moved): string =>
  `${from} could not do it, so ${to} did: ${why}`

/** Several moves as one: from the first that was asked to the last. */
export const joinMoves = (before: Moved | null, next: Moved): Moved =>
  before === null ? next : { from: before.from, to: next.to, why: `${before.why}; ${next.from}: ${next.why}` }

/** From the output of a recorded step. */
export function describeStepMove(output: unknown): string {
  const moved = Moved.safeParse(output)
  return moved.success ? describeMove(moved.data) : 'another agent took over'
}
