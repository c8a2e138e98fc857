/** Headers of every answer: nothing here is framed, sniffed, cached or read by another site. */
export type PageKind = 'api' | 'page' | 'docs'

const always: Record<string, string> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'permissions-policy':
    'accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), microphone=(), ' +
    'midi=(), payment=(), usb=()',
}

const noFrames = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export const securityHeaders: Readonly<Record<PageKind, Readonly<Record<string, string>>>> = {
  api: {
    ...always,
    'content-security-policy': `default-src 'none'; ${noFrames}`,
    'cache-control': 'no-store',
  },
  page: {
    ...always,
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src " +
      "'self'; " +
      `connect-src 'self'; manifest-src 'self'; ${noFrames}`,
    'cache-control': 'no-cache',
  },
  // The API page styles itself inline, and draws its icons from data URLs.
  docs: {
    ...always,
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src " +
      "'self' data:; " +
      `font-src 'self' data:; connect-src 'self'; ${noFrames}`,
    'cache-control': 'no-cache',
  },
}
