/**
 * Lets an owner begin only a few works in one round of the event loop, in the order in which they came. The first
 * part of a work runs until it waits for something, so an owner that begins a thousand in one loop would let nobody
 * else run before the last of them.
 */
import { afterRound } from './next-round.ts'
import { PassingMap } from '../../model/passing-map.ts'

export type FewEachRound = {
  /** Null where the owner may begin at once; otherwise settles in the round in which it may. */
  enter(owner: string): Promise<void> | null
}

type Line = { begun: number; waiting: (() => void)[] }

export function fewEachRound(max: number): FewEachRound {
  const lines = new PassingMap<string, Line>()
  let isArmed = false
  const nextOnes = (): void => {
    isArmed = false
    for (const [owner, line] of lines) {
      const next = line.waiting.splice(0, max)
      if (next.length === 0) lines.delete(owner)
      line.begun = next.length
      for (const go of next) go()
    }
    if (lines.size > 0) arm()
  }
  const arm = (): void => {
    if (isArmed) return
    isArmed = true
    afterRound(nextOnes)
  }
  return {
    enter(owner) {
      let line = lines.get(owner)
      if (line === undefined) lines.set(owner, (line = { begun: 0, waiting: [] }))
      arm()
      // Where others wait, as many have begun as may.
      if (line.begun < max) {
        line.begun += 1
        return null
      }
      const { waiting } = line
      return new Promise<void>((go) => waiting.push(go))
    },
  }
}
