/**
 * Ids that sort by time: 48 bits of milliseconds in 10 characters, then 40 bits in 8, random at the first id of a millisecond and counted up within it.
 * They never go back, also when the clock does, so that rows written together stay together and in order. Models read and repeat them, so they are no longer than they must be.
 */
import { randomBytes } from 'node:crypto'
import type { Millis } from '../model/id.ts'
import type { Ids } from './ports.ts'

/** Crockford's base 32: no letters that look like digits, and in the order of their character codes. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** 40 bits fill 8 characters exactly. */
const countMax = 2 ** 40

export function systemIds(now: () => Millis): Ids {
  let ms = -1
  let count = 0
  const draw = (at: Millis): void => {
    ms = at
    count = randomBytes(5).readUIntBE(0, 5)
  }
  return {
    next() {
      const at = Math.floor(now())
      // Out of numbers in this millisecond: borrow from the next one.
      if (at > ms) draw(at)
      else if ((count += 1) === countMax) draw(ms + 1)
      return base32(ms, 10) + base32(count, 8)
    },
  }
}

function base32(value: number, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest = Math.floor(rest / 32)) text = (alphabet[rest % 32] ?? '') + text
  return text
}
