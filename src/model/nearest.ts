/** What somebody may have meant who wrote a name that is not known. */

/** A distance takes the product of both lengths, and nobody mistypes a longer name. */
const comparedUnitsMax = 100

/** The nearest known name where there is one, otherwise all of them. */
export function findNearest(given: string, known: readonly string[]): string {
  const start = plain(given.slice(0, comparedUnitsMax))
  const nearest = known
    .map((name) => ({ name, far: countSlips(start, plain(name.slice(0, comparedUnitsMax))) }))
    .toSorted((a, b) => a.far - b.far)[0]
  if (nearest === undefined) return 'there are none to choose from'
  if (nearest.far * 2 <= Math.max(given.length, nearest.name.length))
    return `the nearest known one is "${nearest.name}"`
  return `the known ones are ${known.join(', ')}`
}

/** `may_call`, `may-call` and `MayCall` are the same slip for `mayCall`. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[_\-\s]/g, '')

/** The same letters in another order, such as `rnu` for `run`, are one slip. */
const countSlips = (a: string, b: string): number =>
  a !== b && sortLetters(a) === sortLetters(b) ? 1 : distance(a, b)

const sortLetters = (name: string): string => name.split('').sort().join('')

/** Edit distance: insertions, deletions and substitutions. */
export function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      next.push(
        Math.min(
          (row[j] as number) + 1,
          (next[j - 1] as number) + 1,
          (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1),
        ),
      )
    }
    row = next
  }
  return row[b.length] as number
}
