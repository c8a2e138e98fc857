/**
 * Takes secrets out of events: by the names of fields, by the values of environment variables that are named like keys, and by the shapes that keys have.
 * A secret that was found anywhere is replaced everywhere, by the same mark, so that what a turn did with it can still be followed, and replayed.
 */
import type { Event } from '../model/event.ts'
import { isMark, isSecretField, isSecretVariable, markOf, shapes, withoutScheme } from '../model/secret-shapes.ts'
import { hashOf } from './recorded.ts'

type Env = Readonly<Record<string, string | undefined>>

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
    const mark = secrets.get(secret) ?? markOf(secrets.size + 1)
    secrets.set(secret, mark)
    return mark
  }
  const variables = Object.entries(env).flatMap(([name, value]) => (value !== undefined && value.length >= variableMin && isSecretVariable(name) ? [value] : []))
  const seen = (text: string, field: string): void => {
    if (isSecretField(field) && text !== '' && !isMark(text)) note(withoutScheme(text))
    for (const variable of variables) if (text.includes(variable)) note(variable)
    for (const shape of shapes) for (const match of text.matchAll(shape)) note(match[1] ?? match[0])
  }
  for (const event of events) for (const [name, value] of Object.entries(event)) if (!ownFields.has(name)) visit(value, name, seen)
  // A secret inside of a longer one must not break it up.
  const order = [...secrets.keys()].filter((secret) => secret.length >= everywhereMin).sort((a, b) => b.length - a.length)
  const clean = (text: string, field: string): string => {
    if (isSecretField(field) && text !== '' && !isMark(text)) return text.replace(withoutScheme(text), note(withoutScheme(text)))
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
