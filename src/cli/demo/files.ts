/**
 * What the agents of the demo are asked for and what they write. The module has a real mistake at first, and
 * its test finds it.
 */

/** The spec that lies in the workspace before anybody starts. */
export const spec = `# slugify(text)

Turns a title into the last part of a URL.

1. Lower case.
2. Accents are removed: "Crème" gives "creme".
3. Every run of other characters becomes one "-".
4. There is no "-" at either end.
`

export const moduleFile = 'slugify.mjs'
export const testFile = 'slugify.test.mjs'
export const specFile = 'SPEC.md'

/** Points 1 to 3; point 4 is missing. */
export const moduleText = `/** Turns a title into the last part of a URL. */
export function slugify(text) {
  return text
    .normalize('NFKD')
    .replace(/\\p{Mark}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
}
`

export const testText = `import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { slugify } from './${moduleFile}'

test('lower case', () => equal(slugify('Tieline'), 'tieline'))
test('accents are removed', () => equal(slugify('Crème'), 'creme'))
test('a run of others becomes one dash', () => equal(slugify('a  &  b'), 'a-b'))
test('no dash at either end', () => equal(slugify('¿What?'), 'what'))
`

/** The repair: an exact piece of the module, and what stands there afterwards. */
export const mistake = `.replace(/[^a-z0-9]+/g, '-')`
export const repair = `.replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')`
