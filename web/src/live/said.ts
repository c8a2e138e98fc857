import type { Delta } from '../../../src/wire/log.ts'
/** `gap`: the beginning, or a piece, was not heard. */
export type Said = { epoch: number; step: number; text: string; gap: boolean }

export type Streams = {
  get(turn: string): Said | undefined
  take(delta: Delta): void
  /** A step was recorded with this text: it is not streaming any more. */
  settle(turn: string, text: string): void
  drop(turn: string): void
  clear(): void
}

const turnsMax = 2000
/** Of one step; longer ones show their end. */
const charsMax = 400_000

export function streams(): Streams {
  const said = new Map<string, Said>()
  return {
    get: (turn) => said.get(turn),
    take(delta) {
      said.set(delta.turn, next(said.get(delta.turn), delta))
      const [oldest] = said.size > turnsMax ? said.keys() : []
      if (oldest !== undefined) said.delete(oldest)
    },
    settle(turn, text) {
      const known = said.get(turn)
      if (known !== undefined && text !== '' && (text.endsWith(known.text) || known.text.endsWith(text)))
        said.delete(turn)
    },
    drop: (turn) => void said.delete(turn),
    clear: () => said.clear(),
  }
}

/**
 * Another epoch or step begins anew, and so does what is said from its beginning; an offset that was passed
 * before is a rerun; one that lies ahead leaves a gap.
 */
export function next(known: Said | undefined, { epoch, step, offset, text }: Delta): Said {
  if (offset === 0 || known === undefined || known.epoch !== epoch || known.step !== step)
    return { epoch, step, text, gap: offset > 0 }
  if (offset < known.text.length && !known.gap) return { ...known, text: known.text.slice(0, offset) + text }
  const whole = known.text + text
  return {
    ...known,
    text: whole.length > charsMax ? whole.slice(-charsMax) : whole,
    gap: known.gap || offset > known.text.length || whole.length > charsMax,
  }
}
