import fc from 'fast-check'
import { expect, test } from 'vitest'
import { refusalSamples, samples } from '../../test/kits/refusal-samples.ts'
import { formatUsd } from './money.ts'
import { badInput, explain, Refusal } from './refusal.ts'

const all = refusalSamples
test('every code has a sample here, and every sample is a refusal', () => {
  expect(Object.keys(samples).toSorted()).toEqual(
    Refusal.options.map((option): string => option.shape.code.value).toSorted(),
  )
  for (const refusal of all) expect(Refusal.parse(refusal)).toEqual(refusal)
})

/** What tells a model how to go on: something to do, or what could be used instead. */
const acts =
  'Correct|Add|Do|Read|Send|Ask|Tell|Go on|Use|Check|List|Stop|Finish|Answer|Wait|Try|Shorten|Hand on|Call'
const advice = new RegExp(`\\b(?:${acts}|Known agents: \\w|Allowed: \\w)`)

test.each(all.map((refusal) => [refusal.code, refusal] as const))(
  '%s says in whole sentences what happened and what to do next',
  (_code, refusal) => {
    const text = explain(refusal)
    const sentences = text.split(/(?<=[.?!])\s+(?=[A-Z])/)
    expect(sentences.length).toBeGreaterThanOrEqual(2)
    expect(text).toMatch(/\.$/)
    expect(text).not.toMatch(/undefined|\[object|NaN|null/)
    expect(sentences.slice(1).join(' ')).toMatch(advice)
  },
)

test.each(all.map((refusal) => [refusal.code, refusal] as const))(
  '%s names every value that it has',
  (_code, refusal) => {
    const text = explain(refusal)
    const { code: _, ...values } = refusal
    const shown = Object.entries(values).flatMap(([name, value]): unknown[] => {
      // Tokens say nothing where it is money that is used up.
      if ('usd' in values && (name === 'needed' || name === 'left')) return []
      if (name === 'usd') return Object.values(value as object).map(formatUsd)
      if (name === 'freeBytes') return [`${Number(value) / 1_000_000} MB`]
      if (name === 'retryInMs') return [`${Math.ceil(Number(value) / 1000)} s`]
      return typeof value === 'object'
        ? Object.entries(value as object).flatMap(([key, inner]) =>
            Array.isArray(value) ? [inner] : [key, inner],
          )
        : [value]
    })
    expect(shown.map(String).filter((one) => !text.includes(one))).toEqual([])
  },
)

test('R11: what was given is shown within bounds and never cut inside a code point', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('a', '😀', '"', '你'), minLength: 38, maxLength: 120, size: 'max' }),
      (text) => {
        for (const given of [text, [text], { text }]) {
          const refusal = badInput('task', given, 'something else')
          if (refusal.code !== 'bad_input') throw new Error(refusal.code)
          expect(refusal.given.length).toBeLessThan(260)
          expect(refusal.given.isWellFormed()).toBe(true)
          expect(refusal.given).not.toMatch(/\\ud[89a-f]/i)
        }
      },
    ),
    { numRuns: 500 },
  )
})

test('no advice that does not apply: subagent cannot raise max_context_tokens, and a ring needs no message', () => {
  const large = { code: 'context_too_large', tokens: 9, tokensMax: 4, parts: { task: 9 } } as const
  expect(explain(large)).toContain('raise max_context_tokens')
  expect(explain({ ...large, fixed: true })).toBe(
    "The child's context needs 9 tokens (task 9) without any message; at most 4 are allowed here. " +
      'Shorten the task, or pass less with it.',
  )
  expect(explain({ code: 'call_deadlock', path: ['a', 'b', 'a'] })).not.toMatch(/send|message/)
})

test('an agent that is misspelt is answered with the nearest', () => {
  expect(explain({ code: 'agent_unknown', agent: 'codr', known: ['coder', 'planner'] })).toBe(
    'There is no agent "codr"; the nearest known one is "coder". Known agents: coder, planner.',
  )
  expect(explain({ code: 'agent_unknown', agent: 'xyz', known: ['coder'] })).toBe(
    'There is no agent "xyz". Known agents: coder.',
  )
})

test('a refusal that was sent to us is read with its own words only', () => {
  const spent = (day: unknown) => ({
    code: 'budget_exhausted',
    needed: 1,
    left: 0,
    usd: { max: 1, used: 1, day },
  })
  expect(Refusal.parse(spent('server'))).toEqual(spent('server'))
  expect(Refusal.parse(spent('project'))).toEqual(spent('project'))
  expect(Refusal.safeParse(spent('week')).success).toBe(false)
  const large = (fixed: unknown) => ({
    code: 'context_too_large',
    tokens: 2,
    tokensMax: 1,
    parts: { task: 2 },
    fixed,
  })
  expect(Refusal.parse(large(true))).toEqual(large(true))
  expect(Refusal.safeParse(large(false)).success).toBe(false)
})
