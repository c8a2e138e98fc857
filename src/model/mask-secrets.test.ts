import { describe, expect, test } from 'vitest'
import { createMasker } from './mask-secrets.ts'
import { isSameButMarks } from './secret-mark.ts'
import { secretValues } from './secret-shapes.ts'

const jwt = `eyJ${'a1B2'.repeat(5)}.eyJ${'c3D4'.repeat(5)}.${'e5F6'.repeat(5)}`

describe('a secret is taken out of a text', () => {
  test.each([
    ['as a key of a provider', `use sk-${'a1'.repeat(12)} now`, 'use [redacted] now'],
    ['at the very start', `sk-proj-${'Ab3'.repeat(9)}`, '[redacted]'],
    ['as a token of GitHub', `git clone with ghp_${'Ab1'.repeat(12)}.`, 'git clone with [redacted].'],
    ['as a fine-grained one', `github_pat_${'Ab1_'.repeat(8)}`, '[redacted]'],
    [
      'as a token of GitLab, Slack, npm',
      `glpat-${'x1'.repeat(10)} xoxb-1234567890-abc npm_${'Z9'.repeat(18)}`,
      '[redacted] [redacted] [redacted]',
    ],
    [
      'as a key of a cloud',
      `AKIA${'ABCD'.repeat(4)} and AIza${'x-_1'.repeat(9)}`,
      '[redacted] and [redacted]',
    ],
    ['as a signed token', `token is ${jwt}!`, 'token is [redacted]!'],
    [
      'as a private key',
      'before -----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- after',
      'before [redacted] after',
    ],
    [
      'after Bearer',
      'curl -H "authorization: Bearer abcdef0123456789xyz"',
      'curl -H "authorization: Bearer [redacted]"',
    ],
    ['in an address', 'postgres://me:sesame99@db/x', 'postgres://me:[redacted]@db/x'],
    [
      'as an assignment',
      'export DB_PASSWORD=very$ecret1 OPENAI_API_KEY="abcdefg12345" && go',
      'export DB_PASSWORD=very$ecret1 OPENAI_API_KEY="[redacted]" && go',
    ],
    ['in JSON inside a text', '{"db_password":"letmein77"}', '{"db_password":"[redacted]"}'],
    [
      'in JSON inside JSON inside a text',
      String.raw`{\"apiKey\": \"letmein77\"}`,
      String.raw`{\"apiKey\": \"[redacted]\"}`,
    ],
  ])('%s', (_how, given, left) => expect(createMasker([]).text(given)).toBe(left))

  test('by its value, also in JSON and in an address', () => {
    const secret = 'p@ss "word" 1'
    const forms = `in JSON ${JSON.stringify({ a: secret })}, in an address ?p=${encodeURIComponent(secret)}`
    expect(createMasker([secret]).text(`it is ${secret}, ${forms}`)).toBe(
      'it is [redacted], in JSON {"a":"[redacted]"}, in an address ?p=[redacted]',
    )
  })

  test('whole, also where a shorter one begins it', () => {
    const masker = createMasker(['abcdef123', 'abcdef123456'])
    expect(masker.text('abcdef123456 and abcdef123 and abcdef123456')).toBe(
      '[redacted] and [redacted] and [redacted]',
    )
  })

  test('where the text was cut inside of it', () => {
    const masker = createMasker(['correct-horse-battery-staple-7'])
    expect(masker.text('it is correct-horse-battery-st')).toBe('it is [redacted]')
    expect(masker.text('se-battery-staple-7 is it')).toBe('[redacted] is it')
    expect(masker.text('correct-horse and staple-7')).toBe('correct-horse and staple-7')
  })

  test('with characters that mean something in a pattern or a replacement', () => {
    expect(createMasker(['a+b(c)[d]$&$1|x']).text('x a+b(c)[d]$&$1|x y')).toBe('x [redacted] y')
  })
})

describe('in a value', () => {
  test('the names of fields say what is secret, however short', () => {
    const masker = createMasker([])
    const plain = { path: 'a', list: [1, { deep: true }] }
    const given = {
      apiKey: 'abc',
      headers: { Authorization: 'Bearer abcdefgh12345', 'set-cookie': ['id=7654321'] },
      plain,
    }
    const left = masker.value(given)
    expect(left).toEqual({
      apiKey: '[redacted]',
      headers: { Authorization: 'Bearer [redacted]', 'set-cookie': ['[redacted]'] },
      plain,
    })
  })

  test('nothing found is the same value, and a second time nothing is found', () => {
    const masker = createMasker(['known-secret-1'])
    const given = { a: ['b', { c: 'd' }] }
    expect(masker.value(given)).toBe(given)
    const left = masker.value({
      password: 'x',
      text: `known-secret-1 sk-${'a1'.repeat(12)} KEY=[redacted]`,
      json: '{"password":"letmein77"}',
    })
    expect(masker.value(left)).toBe(left)
    expect(masker.text(JSON.stringify(left))).toBe(JSON.stringify(left))
  })
})

test('what only looks like one is left alone: agents go on working with these texts', () => {
  const masker = createMasker([])
  for (const text of [
    'basic knowledge of bearer certificates',
    'task-force sk-short risk-assessment-of-2024-projects',
    'sk-learn-compatible-estimators-only',
    'the secret of the token is its password',
    'KEY=value TOKEN=$TOKEN API_KEY=your-key-here',
    'http://localhost:8283/v1 and https://me@host/x',
    '{"token":"identifier","password":"short1"}',
    'see src/npm_tasks.ts, xox and eyJ',
    'Basic authentication',
    'PASSWORD=os.environ["DB"]',
  ])
    expect(masker.text(text)).toBe(text)
})

test('values of variables named like keys are secrets, but not words, paths and short ones', () => {
  expect(
    secretValues({
      SERVICE_TOKEN: 'correct-horse',
      DB_PASSWORD: 'postgres',
      API_KEY: 'short1',
      MY_KEY: 'abcdefg1 ',
      KEY_FILE: '/etc/keys/main-1',
      HOME: '/home/me-1234',
      LONG_SECRET: 'abcdefghijklmnopqrst',
      PIN_KEY: '12345678',
      X_KEY: undefined,
    }),
  ).toEqual(['correct-horse', 'abcdefg1', 'abcdefghijklmnopqrst'])
})

test('a text on record is the same as one that was given if only its secrets are missing', () => {
  const masker = createMasker(['correct-horse-1'])
  for (const text of [
    'plain',
    'use correct-horse-1',
    'correct-horse-1 twice correct-horse-1, yes',
    `${'sk-'}${'a1'.repeat(12)}`,
  ])
    expect(isSameButMarks(masker.text(text), text)).toBe(true)
  for (const [recorded, given] of [
    ['a', 'b'],
    ['use [redacted] now', 'use it later'],
    ['use [redacted]', 'use '],
    ['[redacted] and [redacted]', 'x and'],
    ['a [redacted] b [redacted] c', 'a x c'],
    ['[redacted]', ''],
  ] as const)
    expect(isSameButMarks(recorded, given)).toBe(false)
})

test('a field whose name is longer than any name is no named one', () => {
  const [name, longer] = [`${'x'.repeat(122)}_token`, `${'x'.repeat(123)}_token`]
  const masker = createMasker([])
  for (const _again of [1, 2]) {
    expect(masker.value({ [name]: 'open sesame' })).toEqual({ [name]: '[redacted]' })
    expect(masker.value({ [longer]: 'open sesame' })).toEqual({ [longer]: 'open sesame' })
  }
})
