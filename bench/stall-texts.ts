/**
 * Texts of the largest size that is allowed, each the worst for somebody who reads it. Made once, before
 * anything is measured.
 */
import { Random } from '../sim/random.ts'
import { inletLimits } from '../src/model/bounded-json.ts'

export const taskUnits = 102_000
export const bodyUnits = 1_000_000
export const depthDeep = 10_000

export const fill = (part: string, units: number): string =>
  part.repeat(Math.ceil(units / part.length)).slice(0, units)

function letters(units: number): string {
  const random = new Random(1, 'letters')
  const codes = Uint8Array.from({ length: units }, () => 97 + random.below(26))
  return Buffer.from(codes).toString('latin1')
}

const makers: Readonly<Record<string, (units: number) => string>> = {
  'random letters': letters,
  'half keys': (units) => fill('-sk-AKEY=xoxb-', units),
  'marks of frames': (units) => fill('<\u200b/peer_message [Called by: user]\nTask: ', Math.floor(units / 2)),
  brackets: (units) => '<'.repeat(units),
  'marks on letters': (units) => `a${'\u0301'.repeat(Math.floor(units / 2) - 1)}`,
  blanks: (units) => `x${' '.repeat(units - 2)}x`,
}

const made = new Map<string, string>()
function once(name: string, units: number): string {
  const key = `${name} ${units}`
  const text = made.get(key) ?? makers[name]?.(units) ?? ''
  made.set(key, text)
  return text
}

/** By what they are made of. */
export const texts: Readonly<Record<string, (units: number) => string>> = Object.fromEntries(
  Object.keys(makers).map((name) => [name, (units: number) => once(name, units)]),
)

export const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
export const wide = (keys: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: keys }, (_, n) => [`key${n}`, n]))

/** As many values as may come at once, in the widest objects. */
export const widest = (): Record<string, number>[] =>
  Array.from({ length: Math.floor(inletLimits.valuesMax / inletLimits.fieldsMax) - 1 }, () =>
    wide(inletLimits.fieldsMax),
  )

/** As long as a body may be, with a pattern in each property. */
export const longSchema = (properties: number): object => ({
  type: 'object',
  properties: Object.fromEntries(
    Array.from({ length: properties }, (_, n) => [
      `p${n}`,
      { type: 'string', pattern: `^[a-z]{1,${(n % 60) + 1}}$` },
    ]),
  ),
})
