import { describe, expect, test } from 'vitest'
import { createMasker } from './mask-secrets.ts'
import { isSameButMarks } from './secret-mark.ts'
import { tokenShapes } from './secret-shapes.ts'

const [chance, hex] = ['aZ3k9QxW7bT2mR8vY4nL', '0f3a9c7e1b5d8264']
const long = (length: number, of = chance): string =>
  of.repeat(Math.ceil(length / of.length)).slice(0, length)
/** The run that a shape asks for, as short as it may be. */
const runFor = {
  hex,
  upper: 'ABC1DEF2GHI3JKL4',
  alnum: chance,
  word: chance,
  dashed: chance,
  base64: chance,
  base64url: chance,
  dotted: chance,
  path: chance,
  plain: chance,
  header: chance,
} as Record<string, string>
const examples = tokenShapes.flatMap(({ prefixes, alphabet, lengthMin, lengthMax }) =>
  prefixes.map((prefix) => ({
    prefix,
    token: prefix + long(Math.min(lengthMax ?? Infinity, Math.max(lengthMin, 20)), runFor[alphabet]),
  })),
)
const bare = examples.filter(({ prefix }) => !prefix.endsWith('/'))
const jwt = `eyJ${long(20)}.eyJ${long(30)}.${long(43)}`
const [pemBegin, pemEnd] = ['-----BEGIN OPENSSH PRIVATE KEY-----', '-----END OPENSSH PRIVATE KEY-----']
const pem = `${pemBegin}\n${`${long(64)}\n`.repeat(4)}${long(20)}==\n${pemEnd}`

const masker = createMasker([])

describe('known tokens', () => {
  test.each(examples)('$prefix…', ({ prefix, token }) => {
    for (const [given, tail] of [
      [`use ${token} now`, ' now'],
      [`KEY2=${token}`, ''],
      [`a\\n${token}\\n`, '\\n'],
      [`(${token}).`, ').'],
      [`?x=1%26${token}`, ''],
    ] as const) {
      const left = masker.text(given)
      expect(left.endsWith(`[redacted]${tail}`)).toBe(true)
      expect(left).not.toContain(token.slice(-8))
    }
    expect(masker.text(prefix)).toBe(prefix)
  })

  test.each([
    ['of OpenAI and Anthropic', `sk-proj-${long(74)}T3BlbkFJ${long(74)}`],
    ['', `sk-ant-api03-${long(93)}AA`],
    ['of this server', `tls_ses_123456789012345678901.${long(43)}`],
    ['', `tlt_turn_123456789012345678901.${long(43)}`],
    ['', `tlu_${long(43)}`],
    ['of Telegram', `123456789:A${long(34)}`],
    ['of Discord', `M${long(23)}.G${long(5)}.${long(38)}`],
    ['of Microsoft Entra', `abc8Q~${long(34)}`],
    ['signed', jwt],
    ['a private key', pem],
    ['in one line', JSON.stringify(pem).slice(1, -1)],
    ['routable', `glpat-${long(27)}.01.${long(9)}`],
  ])('a token %s', (_of, token) => {
    expect(masker.text(`it is ${token} here`)).toBe('it is [redacted] here')
    expect(masker.text(token)).toBe('[redacted]')
  })

  test('a private key that was cut is masked up to the cut', () => {
    expect(masker.text(`${pem.slice(0, 200)}… (cut)`)).toBe('[redacted]… (cut)')
    expect(masker.text(`${pem.slice(0, 170)}\nand then he said`)).toBe('[redacted]\nand then he said')
  })
})

describe('what a text gives to a name', () => {
  test.each([
    ['export OPENAI_API_KEY=abcdefg12345', 'export OPENAI_API_KEY=[redacted]'],
    [
      'aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n',
      'aws_secret_access_key = [redacted]\n',
    ],
    ['?access_token=a1b2c3d4e5f6a7b8&x=1', '?access_token=[redacted]&x=1'],
    ["{ apiKey: 'abcd1234efgh' }", "{ apiKey: '[redacted]' }"],
    ['api_key = "abcd1234efgh"', 'api_key = "[redacted]"'],
    [`AccountName=x;AccountKey=${long(86)}==;`, 'AccountName=x;AccountKey=[redacted];'],
    ['token := "abcd1234efgh"', 'token := "[redacted]"'],
    ["'password' => 'abcd1234'", "'password' => '[redacted]'"],
    ['"authorization": "Bearer abcd1234"', '"authorization": "Bearer [redacted]"'],
    ['redis://:sesame99@db', 'redis://:[redacted]@db'],
    ['Authorization: Basic dXNlcjpwYXNzd29yZDE=', 'Authorization: Basic [redacted]'],
  ])('%s', (given, left) => expect(masker.text(given)).toBe(left))
})

test.each([
  'basic knowledge of bearer certificates',
  'task-sk-list, risk-assessment-of-2024-projects and sk-learn-compatible-estimators-2024-edition',
  'password: "ses_123456789012345678901"',
  '{"token":"call_123456789012345678901","secret":"msg_123456789012345678901"}',
  'TOKEN=ses_123456789012345678901',
  'const token = generateToken256Bits(seed)',
  'secret = config.secrets.database2.password',
  'PASSWORD=os.environ["DB_2024_X1"]',
  'if (password == "x") return',
  'const key = await importKey1(a)',
  'hf_hub_download(repo_id="a/b", filename="c1")',
  'npm_config_registry=local npm_package_version_1_2_3_4',
  "if (pem.startsWith('-----BEGIN PRIVATE KEY-----') && pem.endsWith('-----END PRIVATE KEY-----'))",
  'the header -----BEGIN PRIVATE KEY----- is followed by lines of base64',
  '-----BEGIN CERTIFICATE-----\nabcd1234\n-----END CERTIFICATE-----',
  'ghp_short xoxb-dashed-words-only glpat-not-a-token-of-any-kind',
  'http://localhost:8283/v1?x=1 and https://me@host/x and git@host:me/repo.git',
  'see docs.example.com.index.html and world.limits.depthMax',
  'at 12:30:AM, 1234567:Abc',
  'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=',
  'commit 0f3a9c7e1b5d82640f3a9c7e1b5d82640f3a9c7e',
  'AKIA and ASIA, SKU, SG.',
  'ses_123456789012345678901 called call_123456789012345678901',
  'rk-4 pk-1 sk-8s-cluster',
  'api_key: $API_KEY, token: ${TOKEN_1}, "password": "<password1>[0]"'.slice(0, 40),
  'a'.repeat(5000),
])('left alone: %s', (text) => expect(masker.text(text)).toBe(text))

/** Chance with a seed: the same texts every time. */
function createChance(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
const secrets = [
  ...examples.map(({ token }) => token),
  jwt,
  pem,
  `KEY=${long(20)}`,
  '"password":"letmein77"',
  'x://me:sesame99@h',
  `Bearer ${long(20)}`,
]
const harmless = [
  'the',
  ' ',
  '\n',
  'sk-',
  'word',
  '"',
  "'",
  ':',
  '=',
  '-',
  '_',
  '.',
  '/',
  '\\',
  '\\n',
  '[redacted]',
  '{',
  '}',
  '(',
  '%3D',
  'KEY=',
  '"token":',
  'Bearer ',
  '://',
  '@',
  'é',
  '😀',
  '-----BEGIN PRIVATE KEY-----',
  '-----END PRIVATE KEY-----',
  'eyJ',
  '12',
  'AKIA',
  'ses_123456789012345678901',
  'x',
  'Q~',
  ',',
]

test('masking twice is masking once, and depends on nothing but the text', () => {
  const draw = createChance(7)
  const other = createMasker([])
  for (let round = 0; round < 4000; round += 1) {
    const text = Array.from({ length: 1 + draw(9) }, () =>
      draw(3) === 0 ? secrets[draw(secrets.length)] : harmless[draw(harmless.length)],
    ).join('')
    const left = masker.text(text)
    expect({
      text,
      again: masker.text(left),
      other: other.text(text),
      same: isSameButMarks(left, text),
    }).toEqual({ text, again: left, other: left, same: true })
  }
})

test('a token among harmless text is masked to its last character, and the text around it stays', () => {
  const draw = createChance(11)
  for (let round = 0; round < 2000; round += 1) {
    const { token } = bare[draw(bare.length)] as { token: string }
    const [before, after] = [
      ['', 'see ', '"', '\n', '(', '=', ', '][draw(7)] ?? '',
      ['', ' now', '"', '\n', ')', ', ', ';'][draw(7)] ?? '',
    ]
    expect(masker.text(before + token + after)).toBe(`${before}[redacted]${after}`)
  }
})

test('a value that is nested deeper than the stack is masked too', () => {
  let deep: unknown = { password: 'hunter2', text: `use ${examples[0]?.token}` }
  for (let depth = 0; depth < 100_000; depth += 1) deep = depth % 2 === 0 ? [deep] : { a: deep }
  let left: unknown = masker.value(deep)
  for (let depth = 0; depth < 100_000; depth += 1)
    left = depth % 2 === 1 ? (left as unknown[])[0] : (left as { a: unknown }).a
  expect(left).toEqual({ password: '[redacted]', text: 'use [redacted]' })
})

test('names of fields that are secrets stay apart, and a field named __proto__ stays a field', () => {
  const [one, two] = [`ghp_${long(36)}`, `npm_${long(36)}`]
  expect(Object.entries(masker.value({ [one]: 1, [two]: 2 }))).toEqual([
    ['[redacted]', 1],
    ['[redacted] 2', 2],
  ])
  const given = JSON.parse('{"__proto__":{"a":1},"password":"x"}') as object
  expect(Object.keys(masker.value(given))).toEqual(['__proto__', 'password'])
})

test('a secret is found wherever it lies in a long text', () => {
  const known = createMasker(['correct-horse-battery-staple-7'])
  const token = `ghp_${long(36)}`
  const shifts = Array.from({ length: 60 }, (_, at) => 16_384 - 50 + at)
  const missed = shifts.filter((shift) => {
    const fill = 'x '.repeat(shift / 2) + ' '.repeat(shift % 2)
    return [token, 'correct-horse-battery-staple-7', `"password":"letmein77"`, jwt].some((secret) =>
      known.text(`${fill}${secret} ${fill}${secret}`).includes(secret),
    )
  })
  expect(missed).toEqual([])
})
