/**
 * What secrets look like: the tokens of well-known services, the names of fields and variables that hold a
 * secret, and our own ids, which are none.
 * The facts about tokens are those of the rules of gitleaks and secretlint (both MIT) and of the services'
 * own pages; ARCHITECTURE.md says why this is a table of our own.
 */
import type { Alphabet } from './secret-runs.ts'

type Env = Readonly<Record<string, string | undefined>>

/** One of the prefixes, then a run of the alphabet. Lengths are those of the run. */
export type TokenShape = {
  name: string
  prefixes: readonly string[]
  alphabet: Alphabet
  lengthMin: number
  lengthMax?: number
  /** What tells it from words: a digit anywhere, or a long piece where letters and digits are mixed. */
  needs?: 'digit' | 'chunk'
  /** The prefix is an address and stays. */
  keepsPrefix?: true
}

/**
 * Minima are below the real lengths where the prefix alone is distinctive: a token that was cut is still one.
 */
export const tokenShapes: readonly TokenShape[] = [
  { name: 'Tieline session and turn', prefixes: ['tls_', 'tlt_'], alphabet: 'dotted', lengthMin: 45 },
  { name: 'Tieline server', prefixes: ['tlu_'], alphabet: 'base64url', lengthMin: 40 },
  {
    name: 'OpenAI, Anthropic, OpenRouter, DeepSeek, Langfuse',
    prefixes: ['sk-', 'pk-', 'rk-'],
    alphabet: 'base64url',
    lengthMin: 16,
    needs: 'chunk',
  },
  { name: 'Google API', prefixes: ['AIza'], alphabet: 'base64url', lengthMin: 30 },
  { name: 'Google OAuth', prefixes: ['GOCSPX-', 'ya29.'], alphabet: 'dotted', lengthMin: 24 },
  {
    name: 'AWS access key',
    prefixes: ['AKIA', 'ASIA', 'ABIA', 'ACCA'],
    alphabet: 'upper',
    lengthMin: 16,
    lengthMax: 16,
  },
  { name: 'AWS Bedrock', prefixes: ['ABSK'], alphabet: 'base64', lengthMin: 100 },
  { name: 'GitHub', prefixes: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], alphabet: 'alnum', lengthMin: 20 },
  { name: 'GitHub fine-grained', prefixes: ['github_pat_'], alphabet: 'word', lengthMin: 20 },
  {
    name: 'GitLab',
    alphabet: 'dotted',
    lengthMin: 16,
    needs: 'digit',
    prefixes: [
      'glpat-',
      'gldt-',
      'glrt-',
      'glptt-',
      'glcbt-',
      'glft-',
      'glffct-',
      'glimt-',
      'glagent-',
      'gloas-',
      'glsoat-',
    ],
  },
  {
    name: 'Slack',
    alphabet: 'dashed',
    lengthMin: 10,
    needs: 'digit',
    prefixes: ['xoxa-', 'xoxb-', 'xoxc-', 'xoxd-', 'xoxe-', 'xoxo-', 'xoxp-', 'xoxr-', 'xoxs-', 'xapp-'],
  },
  {
    name: 'Slack webhook',
    prefixes: ['hooks.slack.com/services/', 'hooks.slack.com/workflows/'],
    alphabet: 'path',
    lengthMin: 30,
    keepsPrefix: true,
  },
  {
    name: 'Discord webhook',
    prefixes: ['discord.com/api/webhooks/', 'discordapp.com/api/webhooks/'],
    alphabet: 'path',
    lengthMin: 60,
    keepsPrefix: true,
  },
  {
    name: 'Stripe',
    alphabet: 'alnum',
    lengthMin: 10,
    needs: 'digit',
    prefixes: ['sk_live_', 'sk_test_', 'sk_prod_', 'rk_live_', 'rk_test_', 'rk_prod_'],
  },
  {
    name: 'Stripe and Svix webhooks',
    prefixes: ['whsec_'],
    alphabet: 'base64',
    lengthMin: 20,
    needs: 'digit',
  },
  { name: 'Hugging Face', prefixes: ['hf_', 'api_org_'], alphabet: 'alnum', lengthMin: 30 },
  {
    name: 'Groq, xAI, Perplexity, Cerebras',
    prefixes: ['gsk_', 'xai-', 'pplx-', 'csk-'],
    alphabet: 'alnum',
    lengthMin: 20,
    needs: 'digit',
  },
  {
    name: 'NVIDIA, Tavily',
    prefixes: ['nvapi-', 'tvly-'],
    alphabet: 'base64url',
    lengthMin: 20,
    needs: 'chunk',
  },
  {
    name: 'Replicate, Supabase',
    prefixes: ['r8_', 'sbp_'],
    alphabet: 'alnum',
    lengthMin: 30,
    needs: 'digit',
  },
  { name: 'LangSmith', prefixes: ['lsv2_pt_', 'lsv2_sk_'], alphabet: 'word', lengthMin: 32 },
  { name: 'npm', prefixes: ['npm_'], alphabet: 'alnum', lengthMin: 30 },
  { name: 'PyPI', prefixes: ['pypi-'], alphabet: 'base64url', lengthMin: 40, needs: 'chunk' },
  { name: 'RubyGems', prefixes: ['rubygems_'], alphabet: 'hex', lengthMin: 40 },
  { name: 'Docker', prefixes: ['dckr_pat_', 'dckr_oat_'], alphabet: 'base64url', lengthMin: 20 },
  { name: 'SendGrid', prefixes: ['SG.'], alphabet: 'dotted', lengthMin: 40, needs: 'digit' },
  { name: 'Brevo', prefixes: ['xkeysib-'], alphabet: 'dashed', lengthMin: 40 },
  { name: 'Mailgun', prefixes: ['key-'], alphabet: 'hex', lengthMin: 32, lengthMax: 32 },
  { name: 'Twilio', prefixes: ['SK'], alphabet: 'hex', lengthMin: 32, lengthMax: 32 },
  { name: 'DigitalOcean', prefixes: ['dop_v1_', 'doo_v1_', 'dor_v1_'], alphabet: 'hex', lengthMin: 32 },
  { name: 'Shopify', prefixes: ['shpat_', 'shpca_', 'shppa_', 'shpss_'], alphabet: 'alnum', lengthMin: 32 },
  { name: 'Vault', prefixes: ['hvs.', 'hvb.', 'hvr.'], alphabet: 'base64url', lengthMin: 24, needs: 'digit' },
  { name: 'Databricks', prefixes: ['dapi'], alphabet: 'hex', lengthMin: 32, lengthMax: 32 },
  { name: 'Grafana', prefixes: ['glsa_', 'glc_'], alphabet: 'word', lengthMin: 32, needs: 'digit' },
  { name: 'Linear, Notion', prefixes: ['lin_api_', 'ntn_'], alphabet: 'alnum', lengthMin: 32 },
  {
    name: 'Vercel',
    prefixes: ['vcp_', 'vci_', 'vca_', 'vcr_', 'vck_'],
    alphabet: 'alnum',
    lengthMin: 20,
    needs: 'digit',
  },
  {
    name: 'PlanetScale',
    prefixes: ['pscale_tkn_', 'pscale_oauth_', 'pscale_pw_'],
    alphabet: 'dotted',
    lengthMin: 32,
  },
  {
    name: 'Figma, Square, OpenShift',
    prefixes: ['figd_', 'sq0atp-', 'sq0csp-', 'sha256~'],
    alphabet: 'base64url',
    lengthMin: 22,
    needs: 'digit',
  },
  { name: 'Postman', prefixes: ['PMAK-'], alphabet: 'dashed', lengthMin: 50 },
  { name: 'Pulumi', prefixes: ['pul-'], alphabet: 'hex', lengthMin: 40, lengthMax: 40 },
  { name: 'Sentry', prefixes: ['sntryu_', 'sntrys_'], alphabet: 'plain', lengthMin: 40 },
  { name: 'New Relic', prefixes: ['NRAK-', 'NRII-'], alphabet: 'dashed', lengthMin: 26 },
  { name: 'Atlassian', prefixes: ['ATATT3', 'ATCTT3'], alphabet: 'header', lengthMin: 60 },
  { name: 'age', prefixes: ['AGE-SECRET-KEY-1'], alphabet: 'upper', lengthMin: 50 },
  { name: 'Alibaba', prefixes: ['LTAI'], alphabet: 'alnum', lengthMin: 16, lengthMax: 24, needs: 'digit' },
]

const fieldWords =
  '(?:api|access|account|private)[-_]?keys?|token|secret|passwd|password|passphrase|authorization|cookie|' +
  'credentials?'
/**
 * `apiKey`, `x-api-key`, `access_token`, `Authorization`, `client_secret`, `set-cookie` and the like; not
 * `tokens`, `tokenCount` or `keyboard`.
 */
const secretField = new RegExp(`(^|[-_.\\s]|[a-z](?=[A-Z]))(${fieldWords})$`, 'i')
const secretVariable = /(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|PAT|CREDENTIALS?|COOKIE)(_|$)/i
/** Say where a key is, or what it is called. */
const noSecretVariable = /_(FILE|PATH|DIR|NAME|ENV|TYPE|SOCK)$/i
const assignedVariable = /^[A-Z][A-Z0-9_]*$/
const assignedEnd = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|(?:^|_)(?:PASS|PAT))$/

/** Longer names are those of nothing. */
export const nameMax = 128

export const isSecretField = (name: string): boolean => name.length <= nameMax && secretField.test(name)
/** As in `OPENAI_API_KEY=`. Most names end with a small letter, and need no more than that look. */
export const isAssignedName = (name: string): boolean =>
  name.charCodeAt(name.length - 1) < 97 && assignedEnd.test(name) && assignedVariable.test(name)

/** Ids say who and where, and are no secret, whatever field they are in. */
export const isOwnId = (text: string): boolean =>
  text.length <= nameMax && /^(?:ses|turn|call|flow|msg|node)_[\w-]+$/.test(text)

/**
 * Values of variables that are named like keys. A plain word is none: it stands in too many texts for another
 * reason, and guessing it needs no log.
 */
export function secretValues(env: Env): string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    const known = value?.trim() ?? ''
    return secretVariable.test(name) && !noSecretVariable.test(name) && isWorthHiding(known) ? [known] : []
  })
}

/** At least eight characters, and not letters or digits alone, unless there are many. */
export const isWorthHiding = (value: string): boolean =>
  value.length >= 16 || (value.length >= 8 && !/^(?:[A-Za-z]+|[0-9]+)$/.test(value))
