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
  prefixes: readonly string[]
  alphabet: Alphabet
  lengthMin: number
  lengthMax?: number
  /** What tells it from words: a digit anywhere, or a long piece where letters and digits are mixed. */
  needs?: 'digit' | 'chunk'
  /** The prefix is an address and stays. */
  keepsPrefix?: true
}

const shape = (
  prefixes: string,
  alphabet: Alphabet,
  lengthMin: number,
  more: Pick<TokenShape, 'lengthMax' | 'needs' | 'keepsPrefix'> = {},
): TokenShape => ({ prefixes: prefixes.split(' '), alphabet, lengthMin, ...more })

/** Minima are below the real lengths where the prefix is distinctive: a token that was cut is still one. */
export const tokenShapes: readonly TokenShape[] = [
  shape(/* Tieline session and turn */ 'tls_ tlt_', 'dotted', 45),
  shape(/* Tieline server */ 'tlu_', 'base64url', 40),
  shape(/* OpenAI, Anthropic, OpenRouter, DeepSeek, Langfuse */ 'sk- pk- rk-', 'base64url', 16, {
    needs: 'chunk',
  }),
  shape(/* Google API */ 'AIza', 'base64url', 30),
  shape(/* Google OAuth */ 'GOCSPX- ya29.', 'dotted', 24),
  shape(/* AWS access key */ 'AKIA ASIA ABIA ACCA', 'upper', 16, { lengthMax: 16 }),
  shape(/* AWS Bedrock */ 'ABSK', 'base64', 100),
  shape(/* GitHub */ 'ghp_ gho_ ghu_ ghs_ ghr_', 'alnum', 20),
  shape(/* GitHub fine-grained */ 'github_pat_', 'word', 20),
  shape(
    /* GitLab */ 'glpat- gldt- glrt- glptt- glcbt- glft- glffct- glimt- glagent- gloas- glsoat-',
    'dotted',
    16,
    { needs: 'digit' },
  ),
  shape(/* Slack */ 'xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-', 'dashed', 10, {
    needs: 'digit',
  }),
  shape(/* Slack webhook */ 'hooks.slack.com/services/ hooks.slack.com/workflows/', 'path', 30, {
    keepsPrefix: true,
  }),
  shape(/* Discord webhook */ 'discord.com/api/webhooks/ discordapp.com/api/webhooks/', 'path', 60, {
    keepsPrefix: true,
  }),
  shape(/* Stripe */ 'sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_', 'alnum', 10, {
    needs: 'digit',
  }),
  shape(/* Stripe and Svix webhooks */ 'whsec_', 'base64', 20, { needs: 'digit' }),
  shape(/* Hugging Face */ 'hf_ api_org_', 'alnum', 30),
  shape(/* Groq, xAI, Perplexity, Cerebras */ 'gsk_ xai- pplx- csk-', 'alnum', 20, { needs: 'digit' }),
  shape(/* NVIDIA, Tavily */ 'nvapi- tvly-', 'base64url', 20, { needs: 'chunk' }),
  shape(/* Replicate, Supabase */ 'r8_ sbp_', 'alnum', 30, { needs: 'digit' }),
  shape(/* LangSmith */ 'lsv2_pt_ lsv2_sk_', 'word', 32),
  shape(/* npm */ 'npm_', 'alnum', 30),
  shape(/* PyPI */ 'pypi-', 'base64url', 40, { needs: 'chunk' }),
  shape(/* RubyGems */ 'rubygems_', 'hex', 40),
  shape(/* Docker */ 'dckr_pat_ dckr_oat_', 'base64url', 20),
  shape(/* SendGrid */ 'SG.', 'dotted', 40, { needs: 'digit' }),
  shape(/* Brevo */ 'xkeysib-', 'dashed', 40),
  shape(/* Mailgun */ 'key-', 'hex', 32, { lengthMax: 32 }),
  shape(/* Twilio */ 'SK', 'hex', 32, { lengthMax: 32 }),
  shape(/* DigitalOcean */ 'dop_v1_ doo_v1_ dor_v1_', 'hex', 32),
  shape(/* Shopify */ 'shpat_ shpca_ shppa_ shpss_', 'alnum', 32),
  shape(/* Vault */ 'hvs. hvb. hvr.', 'base64url', 24, { needs: 'digit' }),
  shape(/* Databricks */ 'dapi', 'hex', 32, { lengthMax: 32 }),
  shape(/* Grafana */ 'glsa_ glc_', 'word', 32, { needs: 'digit' }),
  shape(/* Linear, Notion */ 'lin_api_ ntn_', 'alnum', 32),
  shape(/* Vercel */ 'vcp_ vci_ vca_ vcr_ vck_', 'alnum', 20, { needs: 'digit' }),
  shape(/* PlanetScale */ 'pscale_tkn_ pscale_oauth_ pscale_pw_', 'dotted', 32),
  shape(/* Figma, Square, OpenShift */ 'figd_ sq0atp- sq0csp- sha256~', 'base64url', 22, { needs: 'digit' }),
  shape(/* Postman */ 'PMAK-', 'dashed', 50),
  shape(/* Pulumi */ 'pul-', 'hex', 40, { lengthMax: 40 }),
  shape(/* Sentry */ 'sntryu_ sntrys_', 'plain', 40),
  shape(/* New Relic */ 'NRAK- NRII-', 'dashed', 26),
  shape(/* Atlassian */ 'ATATT3 ATCTT3', 'header', 60),
  shape(/* age */ 'AGE-SECRET-KEY-1', 'upper', 50),
  shape(/* Alibaba */ 'LTAI', 'alnum', 16, { lengthMax: 24, needs: 'digit' }),
]

const fieldWords =
  '(?:api|access|account|private)[-_]?keys?|token|secret|passwd|password|passphrase|authorization|cookie|' +
  'credentials?'
/** `apiKey`, `x-api-key`, `access_token`, `client_secret` and the like; not `tokens` or `keyboard`. */
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

/** Values of variables that are named like keys. A plain word is none: it stands in too many texts. */
export function secretValues(env: Env): string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    const known = value?.trim() ?? ''
    return secretVariable.test(name) && !noSecretVariable.test(name) && isWorthHiding(known) ? [known] : []
  })
}

/** At least eight characters, and not letters or digits alone, unless there are many. */
export const isWorthHiding = (value: string): boolean =>
  value.length >= 16 || (value.length >= 8 && !/^(?:[A-Za-z]+|[0-9]+)$/.test(value))
