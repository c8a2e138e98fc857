import { describe, expect, test } from 'vitest'
import {
  isAssignedName,
  isOwnId,
  isSecretField,
  isWorthHiding,
  secretValues,
  tokenShapes,
} from './secret-shapes.ts'

/** Service by service as in the table: prefixes, alphabet, least length, and what else is asked for. */
const shapes = `
tls_ tlt_ dotted 45
tlu_ base64url 40
sk- pk- rk- base64url 16 chunk
AIza base64url 30
GOCSPX- ya29. dotted 24
AKIA ASIA ABIA ACCA upper 16 max 16
ABSK base64 100
ghp_ gho_ ghu_ ghs_ ghr_ alnum 20
github_pat_ word 20
glpat- gldt- glrt- glptt- glcbt- glft- glffct- glimt- glagent- gloas- glsoat- dotted 16 digit
xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp- dashed 10 digit
hooks.slack.com/services/ hooks.slack.com/workflows/ path 30 keeps
discord.com/api/webhooks/ discordapp.com/api/webhooks/ path 60 keeps
sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ alnum 10 digit
whsec_ base64 20 digit
hf_ api_org_ alnum 30
gsk_ xai- pplx- csk- alnum 20 digit
nvapi- tvly- base64url 20 chunk
r8_ sbp_ alnum 30 digit
lsv2_pt_ lsv2_sk_ word 32
npm_ alnum 30
pypi- base64url 40 chunk
rubygems_ hex 40
dckr_pat_ dckr_oat_ base64url 20
SG. dotted 40 digit
xkeysib- dashed 40
key- hex 32 max 32
SK hex 32 max 32
dop_v1_ doo_v1_ dor_v1_ hex 32
shpat_ shpca_ shppa_ shpss_ alnum 32
hvs. hvb. hvr. base64url 24 digit
dapi hex 32 max 32
glsa_ glc_ word 32 digit
lin_api_ ntn_ alnum 32
vcp_ vci_ vca_ vcr_ vck_ alnum 20 digit
pscale_tkn_ pscale_oauth_ pscale_pw_ dotted 32
figd_ sq0atp- sq0csp- sha256~ base64url 22 digit
PMAK- dashed 50
pul- hex 40 max 40
sntryu_ sntrys_ plain 40
NRAK- NRII- dashed 26
ATATT3 ATCTT3 header 60
AGE-SECRET-KEY-1 upper 50
LTAI alnum 16 max 24 digit
`

test('tokens of services have these beginnings, alphabets and lengths', () => {
  const written = tokenShapes.map(({ prefixes, alphabet, lengthMin, lengthMax, needs, keepsPrefix }) =>
    [
      ...prefixes,
      alphabet,
      lengthMin,
      ...(lengthMax === undefined ? [] : ['max', lengthMax]),
      ...(needs === undefined ? [] : [needs]),
      ...(keepsPrefix === true ? ['keeps'] : []),
    ].join(' '),
  )
  expect(written).toEqual(shapes.trim().split('\n'))
})

describe('a field that holds a secret by its name', () => {
  test.each([
    'apiKey',
    'api_key',
    'api-keys',
    'x-api-key',
    'accessKey',
    'account_key',
    'private-key',
    'token',
    'access_token',
    'accessToken',
    'client.secret',
    'my secret',
    'passwd',
    'db_password',
    'passphrase',
    'Authorization',
    'cookie',
    'set-cookie',
    'credential',
    'credentials',
    'TOKEN',
    'api_apikey',
    'dbpassword',
  ])('%s', (name) => expect(isSecretField(name)).toBe(true))

  test.each([
    'tokens',
    'keyboard',
    'key',
    'max_tokens',
    'tokenizer',
    'secretary',
    'cookies',
    'username',
    '',
    'passwords',
    'api key x',
    `${'x'.repeat(123)}_token`,
  ])('not %s', (name) => expect(isSecretField(name)).toBe(false))

  test('up to 128 characters', () => {
    expect(isSecretField(`${'x'.repeat(122)}_token`)).toBe(true)
  })
})

test.each([
  ['OPENAI_API_KEY', true],
  ['KEY', true],
  ['A_TOKEN', true],
  ['DB_SECRET', true],
  ['DBPASSWORD', true],
  ['PASSWD', true],
  ['CREDENTIAL', true],
  ['AWS_CREDENTIALS', true],
  ['PASS', true],
  ['DB_PASS', true],
  ['GH_PAT', true],
  ['COMPASS', false],
  ['SPAT', false],
  ['KEY_FILE', false],
  ['api_key', false],
  ['apiKEY', false],
  ['1KEY', false],
  ['_KEY', false],
  ['A-KEY', false],
  ['HOME', false],
  ['', false],
])('%j names a variable that is given a secret: %s', (name, is) => {
  expect(isAssignedName(name)).toBe(is)
})

test.each([
  ['ses_1', true],
  ['turn_1', true],
  ['call_a-b', true],
  ['flow_1', true],
  ['msg_1', true],
  ['node_1', true],
  ['ses_', false],
  ['tok_1', false],
  ['xses_1', false],
  ['ses_1 x', false],
  ['ses_a.b', false],
  [`ses_${'x'.repeat(124)}`, true],
  [`ses_${'x'.repeat(125)}`, false],
])('%j is an id of ours: %s', (text, is) => {
  expect(isOwnId(text)).toBe(is)
})

test.each([
  ['abcd-12', false],
  ['abcd-123', true],
  ['abcdefgh', false],
  ['12345678', false],
  ['abcdefg1', true],
  ['abcdefghijklmno', false],
  ['abcdefghijklmnop', true],
  ['123456789012345', false],
  ['1234567890123456', true],
  ['', false],
])('%j is worth hiding: %s', (value, worth) => {
  expect(isWorthHiding(value)).toBe(worth)
})

test.each([
  ['API_KEY', true],
  ['APIKEY', true],
  ['MY_KEY', true],
  ['KEY', true],
  ['KEY_1', true],
  ['A_TOKEN_B', true],
  ['SECRET', true],
  ['DB_PASSWORD', true],
  ['PASSWD', true],
  ['DB_PASS', true],
  ['GH_PAT', true],
  ['CREDENTIAL', true],
  ['CREDENTIALS', true],
  ['COOKIE', true],
  ['my_token', true],
  ['KEYBOARD', false],
  ['MONKEY', false],
  ['TOKENS', false],
  ['HOME', false],
  ['KEY_FILE', false],
  ['KEY_PATH', false],
  ['KEY_DIR', false],
  ['TOKEN_NAME', false],
  ['TOKEN_ENV', false],
  ['KEY_TYPE', false],
  ['SSH_AUTH_KEY_SOCK', false],
  ['key_file', false],
  ['KEY_FILES', true],
])('the value of %s is a secret: %s', (name, is) => {
  expect(secretValues({ [name]: ' value-1234 ' })).toEqual(is ? ['value-1234'] : [])
})

test('a variable without a value, or with a plain word, is none', () => {
  expect(secretValues({ A_KEY: undefined, B_KEY: 'postgres', C_KEY: '   ' })).toEqual([])
})
