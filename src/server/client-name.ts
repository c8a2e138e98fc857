/**
 * What a client calls itself: the product of its User-Agent, so that each program has one session of its own.
 */
const nameCharsMax = 64

export function readClientName(userAgent: string | undefined): string {
  const product = /^[A-Za-z0-9][A-Za-z0-9._-]*/
    .exec(userAgent ?? '')?.[0]
    .toLowerCase()
    .slice(0, nameCharsMax)
  return product ?? 'http'
}
