/**
 * Every regular expression in `src` against texts that make a backtracking engine slow: a part of what it
 * looks for, over and over, and an end that does not fit.
 * A linear one needs well under a millisecond for 50 kB; a quadratic one needs seconds, and an exponential
 * one for ever.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createContext, runInContext, type Context } from 'node:vm'
import { parseAst } from 'rolldown/parseAst'
import { expect, test } from 'vitest'
import { cpuMs } from '../kits/linear.ts'

const src = fileURLToPath(new URL('../../src', import.meta.url))

type Expression = { file: string; source: string; flags: string }

/** These never see a text from outside that could be long, for the reason given. */
const exempt: Readonly<Record<string, string>> = {
  'cli/show/amounts.ts \\B(?=(\\d{3})+$)': 'a number has few digits',
  'server/page-routes.ts -[A-Za-z0-9_-]{8,}\\.[a-z0-9]+$': 'names of our own files',
  'views/telemetry-settings.ts \\/+$': 'an address in the environment of the server',
  'model/secret-shapes.ts \\beyJ[A-Za-z0-9_-]{10,}\\.eyJ[A-Za-z0-9_-]{7,}\\.[A-Za-z0-9_-]{10,}':
    'used by the masking only, which has a test of its own for its time',
}

function expressionsIn(file: string): Expression[] {
  const found: Expression[] = []
  const visit = (node: unknown): void => {
    if (node === null || typeof node !== 'object') return
    const { regex } = node as { regex?: { pattern: string; flags: string } | null }
    if (regex != null) found.push({ file, source: regex.pattern, flags: regex.flags })
    for (const inner of Object.values(node)) visit(inner)
  }
  visit(parseAst(readFileSync(join(src, file), 'utf8'), { lang: 'ts' }))
  return found
}

const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.ts') && !/\.test\.ts$|-contract\.ts$/.test(name),
)
const expressions = files.flatMap(expressionsIn)

const pumpUnits = 50_000
const timeoutMs = 1000
/** In CPU time; the slowest of ours takes 20 ms. */
const linearMsMax = 200

/** The literal texts in a pattern, and a few signs that classes are made of. */
function seedsOf({ source }: Expression): { starts: string[]; pumps: string[] } {
  const plain = source
    .replaceAll(/\\[nrt]/g, ' ')
    .replaceAll(/\\[a-zA-Z](?:\{[^}]*\})?/g, '\0')
    .replaceAll(/\\(.)/g, '$1')
    .replaceAll(/\(\?(?:[:=!]|<[=!]|<\w+>)/g, '\0')
  const literals = plain
    .split(/[\0()[\]|*+?^$.]|\{\d+,?\d*\}/)
    .filter((part) => part !== '' && part.length <= 40)
  const starts = ['', ...new Set(literals.slice(0, 4)), ...(literals.length > 1 ? [literals.join('')] : [])]
  const pumps = [
    ...new Set([
      'a',
      'A',
      '0',
      ' ',
      '\n',
      '-',
      '_',
      '.',
      '/',
      '=',
      '"',
      'a ',
      '{',
      ...literals.slice(0, 6),
      ...(literals.length > 1 ? [literals.join('')] : []),
    ]),
  ]
  return { starts, pumps }
}

/**
 * Whether it ends in its time. Time in which the machine was busy elsewhere does not count, and a fast machine makes no
 * expression linear: one that ends is measured too, and what took long once may take long a second time.
 */
function isQuick(context: Context): boolean {
  for (let slow = 0; slow < 2;) {
    let ended = true
    const ms = cpuMs(() => {
      try {
        runInContext('text.replace(pattern, "")', context, { timeout: timeoutMs })
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
        ended = false
      }
    })
    if (ended && ms <= linearMsMax) return true
    if (!ended && ms > linearMsMax) return false
    if (ended) slow += 1
  }
  return false
}

/** The start of the text that took too long; null if none did. */
function slowest(expression: Expression): string | null {
  const { starts, pumps } = seedsOf(expression)
  const context = createContext({
    pattern: new RegExp(expression.source, expression.flags.replace('y', '')),
    text: '',
  })
  for (const start of starts) {
    for (const pump of pumps) {
      context['text'] = `${start}${pump.repeat(Math.ceil(pumpUnits / pump.length))}\u0001`
      if (!isQuick(context)) return JSON.stringify(`${start}${pump}…`)
    }
  }
  return null
}

test(
  'no regular expression in src needs more than linear time for a hostile text',
  { timeout: 300_000 },
  () => {
    expect(expressions.length).toBeGreaterThan(100)
    const slow = [...new Map(expressions.map((one) => [`${one.source}/${one.flags}`, one])).values()].flatMap(
      (one) => {
        const text = Object.hasOwn(exempt, `${one.file} ${one.source}`) ? null : slowest(one)
        return text === null ? [] : [`${one.file}: /${one.source}/${one.flags} on ${text}`]
      },
    )
    expect(slow).toEqual([])
  },
)

test('expressions that backtrack are found by it', () => {
  for (const source of ['^(a+)+$', '\\s*a\\s*$', '-(?:[a-z]+-)*$', '\\{\\{\\s*([^{}]*?)\\s*\\}\\}']) {
    expect([source, slowest({ file: 'planted', source, flags: 'g' })]).not.toEqual([source, null])
  }
})
