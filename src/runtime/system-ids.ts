/**
 * Ids that sort by time: 48 bits of milliseconds in 10 characters, then 80 bits in 16, random at the first id of a millisecond and counted up within it.
 * They never go back, also when the clock does, so that rows written together stay together and in order.
 */
import { randomBytes } from 'node:crypto'
import type { Millis } from '../model/id.ts'
import type { Ids } from './ports.ts'

/** Crockford's base 32: no letters that look like digits, and in the order of their character codes. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** Half of the 80 bits: a number holds 40 exactly, and they fill 8 characters exactly. */
const half = 2 ** 40

export function systemIds(now: () => Millis): Ids {
  let ms = -1
  let high = 0
  let low = 0
  const draw = (at: Millis): void => {
    const bytes = randomBytes(10)
    ms = at
    high = bytes.readUIntBE(0, 5)
    low = bytes.readUIntBE(5, 5)
  }
  const countUp = (): void => {
    low += 1
    if (low < half) return
    low = 0
    high += 1
    // Out of numbers in this millisecond: borrow from the next one.
    if (high === half) draw(ms + 1)
  }
  return {
    next() {
      const at = Math.floor(now())
      if (at > ms) draw(at)
      else countUp()
      return base32(ms, 10) + base32(high, 8) + base32(low, 8)
    },
  }
}

function base32(value: number, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest = Math.floor(rest / 32)) text = (alphabet[rest % 32] ?? '') + text
  return text
}
