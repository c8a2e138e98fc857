import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { badInput, explain, Refusal, refusalOfZod, type RefusalCode } from './refusal.ts'

/** One refusal of each code, and those whose text has two forms. */
const samples = {
  bad_input: { code: 'bad_input', field: 'task', given: '3', expected: 'a text' },
  self_call: { code: 'self_call', agent: 'coder' },
  reply_not_addressed: { code: 'reply_not_addressed', message: 'msg_1' },
  not_authenticated: { code: 'not_authenticated' },
  not_allowed: { code: 'not_allowed', agent: 'coder', what: 'call root', allowed: [] },
  tool_disabled: { code: 'tool_disabled', tool: 'shell', why: 'it is off' },
  message_not_yours: { code: 'message_not_yours', message: 'msg_1' },
  agent_unknown: { code: 'agent_unknown', agent: 'codre', known: ['coder', 'planner'] },
  session_unknown: { code: 'session_unknown', session: 'ses_1' },
  message_unknown: { code: 'message_unknown', message: 'msg_1' },
  call_unknown: { code: 'call_unknown', call: 'call_1' },
  session_ambiguous: { code: 'session_ambiguous', session: 'a', candidates: ['ses_a1', 'ses_a2'] },
  session_busy: { code: 'session_busy', session: 'ses_1' },
  call_cycle: { code: 'call_cycle', path: ['a', 'b', 'a'] },
  call_deadlock: { code: 'call_deadlock', path: ['a', 'b', 'a'] },
  call_too_deep: { code: 'call_too_deep', depth: 6, depthMax: 5, limit: 'the server' },
  call_ended: { code: 'call_ended', why: 'it was cancelled' },
  task_repeated: { code: 'task_repeated', agent: 'coder' },
  message_already_sent: { code: 'message_already_sent', message: 'msg_1' },
  message_changed: { code: 'message_changed', message: 'msg_1' },
  message_taken: { code: 'message_taken', message: 'msg_1', how: 'accepted', by: 'ses_2' },
  flow_expired: { code: 'flow_expired', ageSeconds: 4000, ageSecondsMax: 3600 },
  too_large: { code: 'too_large', field: 'task', bytes: 200_000, bytesMax: 102_400 },
  context_too_large: {
    code: 'context_too_large',
    tokens: 5000,
    tokensMax: 4000,
    parts: { task: 4500, prompt: 500 },
  },
  output_invalid: { code: 'output_invalid', problems: ['/a must be a number'] },
  too_many_calls: { code: 'too_many_calls', open: 10, openMax: 10 },
  queue_full: { code: 'queue_full', session: 'ses_1', queued: 100, queuedMax: 100 },
  too_many_descendants: { code: 'too_many_descendants', created: 100, createdMax: 100 },
  too_many_agents: { code: 'too_many_agents', made: 1000, madeMax: 1000 },
  question_unknown: { code: 'question_unknown', question: 'question_1' },
  question_answered: { code: 'question_answered', question: 'question_1', answer: 'deny', by: 'the user' },
  rate_limited: { code: 'rate_limited', what: 'calls', perMinute: 120, retryInMs: 1500 },
  budget_exhausted: { code: 'budget_exhausted', needed: 100, left: 3 },
  store_unavailable: {
    code: 'store_unavailable',
    path: '/data/tieline.db',
    reason: 'the disk is full',
    cure: 'Free some space on it.',
    freeBytes: 1_200_000,
    retryInMs: 1500,
  },
} as const satisfies { [Code in RefusalCode]: Extract<Refusal, { code: Code }> }
const more: Refusal[] = [
  { code: 'not_allowed', agent: 'coder', what: 'call root', allowed: ['planner'] },
  { code: 'agent_unknown', agent: 'x', known: [] },
]
const all: Refusal[] = [...Object.values(samples), ...more]

test('every code has a sample here, and every sample is a refusal', () => {
  expect(Object.keys(samples).toSorted()).toEqual(
    Refusal.options.map((option): string => option.shape.code.value).toSorted(),
  )
  for (const refusal of all) expect(Refusal.parse(refusal)).toEqual(refusal)
})

/** What tells a model how to go on: something to do, or what could be used instead. */
const acts =
  'Correct|Do|Read|Send|Ask|Tell|Go on|Use|Check|List|Stop|Finish|Answer|Wait|Try|Shorten|Hand on|Call'
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

const Input = z.strictObject({
  task: z.string().min(1),
  count: z.number().int().max(10).optional(),
  kind: z.enum(['a', 'b']).optional(),
  deep: z.strictObject({ files: z.array(z.string().min(1)) }).optional(),
})
function refusalFor(input: unknown, prefix?: string): Extract<Refusal, { code: 'bad_input' }> {
  const parsed = Input.safeParse(input)
  if (parsed.success) throw new Error('it is good')
  const refusal = refusalOfZod(parsed.error, input, prefix)
  if (refusal.code !== 'bad_input') throw new Error(refusal.code)
  return refusal
}

test.each([
  ['a missing field', {}, 'task', 'nothing', /string/],
  ['an empty text', { task: '' }, 'task', 'an empty text', /small|least|1/],
  ['a wrong type', { task: 5 }, 'task', '5', /string/],
  ['a number too large', { task: 'x', count: 11 }, 'count', '11', /10/],
  ['a number that is not whole', { task: 'x', count: 1.5 }, 'count', '1.5', /int/],
  ['another word', { task: 'x', kind: 'c' }, 'kind', '"c"', /"a"\|"b"/],
  ['a wrong item of a list', { task: 'x', deep: { files: ['ok', 7] } }, 'deep.files.1', '7', /string/],
  ['an unknown field', { task: 'x', tsak: 1 }, 'tsak', 'a field that does not exist', /documented fields/],
  [
    'an unknown field inside',
    { task: 'x', deep: { files: [], fiels: 1 } },
    'deep.fiels',
    'a field that does not exist',
    /documented fields/,
  ],
  ['no object at all', 'hello', 'input', '"hello"', /object/],
  ['nothing at all', null, 'input', 'null', /object/],
])(
  '%s is refused with the name of the field, what was given and what is needed',
  (_name, input, field, given, expected) => {
    const refusal = refusalFor(input)
    expect(refusal.field).toBe(field)
    expect(refusal.given).toContain(given)
    expect(refusal.expected).toMatch(expected)
  },
)

test('the name of the field says where it is inside a larger input', () => {
  expect(refusalFor({ task: 1 }, 'context').field).toBe('context.task')
  expect(refusalFor({ task: 'x', y: 1 }, 'context').field).toBe('context.y')
  expect(refusalFor(3, 'context').field).toBe('context')
})

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
