/**
 * Ids that sort by time: nine digits of seconds since 2020 (enough until 2051), then twelve digits, random at
 * the first id of a second and counted up within it.
 * They never go back, also when the clock does, so that rows written together stay together and in order.
 * Models read and repeat them: digits take a third of a token each, where letters and digits mixed take more
 * than half.
 */
import { randomBytes, randomInt } from 'node:crypto'
import { boundaryFrom } from '../../model/frame.ts'
import type { Millis } from '../../model/id.ts'
import type { Ids } from './ports.ts'

const countMax = 1e12
const boundaryDrawsMax = 2 ** 32
const epochMs = 1_577_836_800_000

export function systemIds(now: () => Millis): Ids {
  let second = -1
  let count = 0
  const draw = (at: number): void => {
    second = at
    count = randomBytes(6).readUIntBE(0, 6) % countMax
  }
  return {
    next() {
      const at = Math.max(0, Math.floor((now() - epochMs) / 1000))
      // Out of numbers in this second: borrow from the next one.
      if (at > second) draw(at)
      else if ((count += 1) === countMax) draw(second + 1)
      return String(second).padStart(9, '0') + String(count).padStart(12, '0')
    },
    boundary: () => boundaryFrom(randomInt(boundaryDrawsMax)),
  }
}
