/**
 * Takes secrets out of events: by the names of fields, by the values of environment variables that are named like keys, and by the shapes that keys have.
 * A secret that was found anywhere is replaced everywhere, by the same mark, so that what a turn did with it can still be followed, and replayed.
 */
import type { Event } from '../model/event.ts'
import { hashOf } from './recorded.ts'

type Env = Readonly<Record<string, string | undefined>>

/** `apiKey`, `x-api-key`, `access_token`, `Authorization`, `client_secret`, `set-cookie` and the like; not `tokens`, `tokenCount` or `keyboard`. */
const secretField = /(^|[-_.\s]|[a-z](?=[A-Z]))(api[-_]?keys?|access[-_]?keys?|private[-_]?keys?|token|secret|passwd|password|passphrase|authorization|cookie|credentials?)$/i
const secretVariable = /(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|PAT|CREDENTIALS?|COOKIE)(_|$)/i

/** Each has the secret as its only group, or as a whole. */
const shapes: readonly RegExp[] = [
  /\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}/g,
  /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|AIza[A-Za-z0-9_-]{30,}|npm_[A-Za-z0-9]{30,})/g,
  /\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}/g,
  /\b(?:Bearer|Basic)\s+([A-Za-z0-9._~+/=-]{8,})/gi,
  /:\/\/[^\s:/@]+:([^\s:/@]{3,})@/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]+?-----END [A-Z ]*PRIVATE KEY-----/g,
  /\b[A-Z][A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD)=["']?([^\s"'&;]{8,})/g,
  /["'](?:api[-_]?key|access[-_]?token|token|secret|password|authorization|cookie)\\?["']\s*:\s*\\?["']([^"'\\]{6,})/gi,
]

/** Shorter values stand in too many places by chance: they are taken out where they are named, and nowhere else. */
const everywhereMin = 6
const variableMin = 8

/** Fields of events that are ours: ids, names and hashes, never an agent's text. */
const ownFields: ReadonlySet<string> = new Set(['type', 'session', 'turn', 'call', 'flow', 'target', 'message', 'from', 'parent', 'node', 'key', 'taskHash', 'kind', 'tool', 'agent', 'source', 'outcome', 'grant', 'about'])

export type Redactor = { redact(event: Event): Event; /** How many secrets were found. */ count(): number }

/** Everything that will be redacted is looked at first: a secret may be named as one only at the end. */
export function redactorOf(events: Iterable<Event>, env: Env): Redactor {
  const secrets = new Map<string, string>()
  const note = (secret: string): string => {
    const mark = secrets.get(secret) ?? `[redacted-${secrets.size + 1}]`
    secrets.set(secret, mark)
    return mark
  }
  const variables = Object.entries(env).flatMap(([name, value]) => (value !== undefined && value.length >= variableMin && secretVariable.test(name) ? [value] : []))
  const seen = (text: string, field: string): void => {
    if (secretField.test(field) && text !== '') note(withoutScheme(text))
    for (const variable of variables) if (text.includes(variable)) note(variable)
    for (const shape of shapes) for (const match of text.matchAll(shape)) note(match[1] ?? match[0])
  }
  for (const event of events) for (const [name, value] of Object.entries(event)) if (!ownFields.has(name)) visit(value, name, seen)
  // A secret inside of a longer one must not break it up.
  const order = [...secrets.keys()].filter((secret) => secret.length >= everywhereMin).sort((a, b) => b.length - a.length)
  const clean = (text: string, field: string): string => {
    if (secretField.test(field) && text !== '') return text.replace(withoutScheme(text), note(withoutScheme(text)))
    const whole = order.reduce((left, secret) => (left.includes(secret) ? left.replaceAll(secret, note(secret)) : left), text)
    return order.reduce((left, secret) => withoutParts(left, secret, note(secret)), whole)
  }
  return { count: () => secrets.size, redact: (event) => withHash(Object.fromEntries(Object.entries(event).map(([name, value]) => [name, ownFields.has(name) ? value : change(value, name, clean)])) as Event, event) }
}

/** So much of a secret, or more, is taken out where a text was cut inside of it. */
const partMin = 8

function withoutParts(text: string, secret: string, mark: string): string {
  if (secret.length <= partMin) return text
  const [head, tail] = [secret.slice(0, partMin), secret.slice(-partMin)]
  if (!text.includes(head) && !text.includes(tail)) return text
  let left = text
  for (let at = left.indexOf(head); at >= 0; at = left.indexOf(head, at + mark.length)) {
    let end = at + partMin
    while (end < left.length && left[end] === secret[end - at]) end += 1
    left = left.slice(0, at) + mark + left.slice(end)
  }
  for (let at = left.indexOf(tail); at >= 0; at = left.indexOf(tail, at + 1)) {
    let start = at
    while (start > 0 && left[start - 1] === secret[secret.length - partMin - (at - start) - 1]) start -= 1
    left = left.slice(0, start) + mark + left.slice(at + partMin)
    at = start
  }
  return left
}

/** `Bearer …` in a field of that name: the word is no secret. */
const withoutScheme = (text: string): string => text.replace(/^(?:Bearer|Basic)\s+/i, '')

/** The hash of a text is that of the text that is left. */
function withHash(event: Event, before: Event): Event {
  if (!('taskHash' in event) || !('taskHash' in before) || event.task === before.task) return event
  return { ...event, taskHash: hashOf(event.task) }
}

function visit(value: unknown, field: string, seen: (text: string, field: string) => void): void {
  if (typeof value === 'string') return seen(value, field)
  if (Array.isArray(value)) return value.forEach((part) => visit(part, field, seen))
  if (value === null || typeof value !== 'object') return
  for (const [name, part] of Object.entries(value)) {
    seen(name, '')
    visit(part, name, seen)
  }
}

function change(value: unknown, field: string, clean: (text: string, field: string) => string): unknown {
  if (typeof value === 'string') return clean(value, field)
  if (Array.isArray(value)) return value.map((part) => change(part, field, clean))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [clean(name, ''), change(part, name, clean)]))
}
