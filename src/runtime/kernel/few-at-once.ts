/**
 * Lets an owner have only a few works under way, so that one with a thousand does not keep the others waiting: what
 * comes in between is behind a few of them, and not behind all.
 */
import { PassingMap } from '../../model/passing-map.ts'

export type FewAtOnce = {
  /** Settles when the owner may begin one more; whoever was let in leaves when it is done. */
  enter(owner: string): Promise<void>
  leave(owner: string): void
}

type Line = { inside: number; waiting: (() => void)[] }

export function fewAtOnce(max: number): FewAtOnce {
  const lines = new PassingMap<string, Line>()
  return {
    async enter(owner) {
      const line = lines.get(owner) ?? { inside: 0, waiting: [] }
      lines.set(owner, line)
      if (line.inside < max) line.inside += 1
      else await new Promise<void>((go) => line.waiting.push(go))
    },
    leave(owner) {
      const line = lines.get(owner)
      const next = line?.waiting.shift()
      // Whoever is next takes the place over.
      if (line === undefined || next !== undefined) return next?.()
      line.inside -= 1
      if (line.inside === 0) lines.delete(owner)
    },
  }
}
