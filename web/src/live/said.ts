import type { Delta } from '../../../src/wire/log.ts'

/** `gap`: the beginning or a piece is missing. */
/** `remark`: what stands in the way of the step just now. */
export type Said = { epoch: number; step: number; text: string; gap: boolean; remark: string }

export type Streams = {
  get(turn: string): Said | undefined
  take(delta: Delta): void
  /** A step was recorded with this text, so it no longer streams. */
  settle(turn: string, text: string): void
  drop(turn: string): void
  clear(): void
}

const turnsMax = 2000
/** Per step; of a longer text the end is kept. */
const charsMax = 400_000

export function createStreams(): Streams {
  const said = new Map<string, Said>()
  return {
    get: (turn) => said.get(turn),
    take(delta) {
      said.set(delta.turn, applyDelta(said.get(delta.turn), delta))
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
 * Another epoch, another step or offset 0 starts a new text. An offset that is already passed is a rerun and
 * overwrites; one that lies ahead leaves a gap.
 */
export function applyDelta(known: Said | undefined, { epoch, step, offset, text, remark = '' }: Delta): Said {
  if (offset === 0 || known === undefined || known.epoch !== epoch || known.step !== step)
    return { epoch, step, text, gap: offset > 0, remark }
  if (offset < known.text.length && !known.gap)
    return { ...known, remark, text: known.text.slice(0, offset) + text }
  const whole = known.text + text
  return {
    ...known,
    remark,
    text: whole.length > charsMax ? whole.slice(-charsMax) : whole,
    gap: known.gap || offset > known.text.length || whole.length > charsMax,
  }
}
