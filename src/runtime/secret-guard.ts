/**
 * Secrets never enter the log: what is about to be appended is looked at, and a secret is replaced by a mark before anything is written or folded.
 *
 * A turn that is running keeps what it has in memory, so tools still work with the real values; the log, whoever reads it later, and a turn that is taken up again after a crash see the marks.
 * Nearly every transaction has no secret: its free texts are gathered and looked at once, and it is handed on as it is.
 */
import type { Event } from '../model/event.ts'
import { maskerOf, type Masker } from '../model/mask-secrets.ts'
import { isSecretField, secretValues } from '../model/secret-shapes.ts'
import { hashOf } from './recorded.ts'

export type SecretGuard = {
  /** The events as they may be written; null where they may be written as they are. Pure but for what it has learned. */
  clean(events: readonly Event[]): readonly Event[] | null
  /** A secret from now on, such as a token that was just made. */
  know(value: string): void
  readonly masker: Masker
}

/** Fields of events that are ours: ids, names, places and numbers, never an agent's text. */
export const ownFields: ReadonlySet<string> = new Set([
  'type', 'session', 'turn', 'call', 'flow', 'target', 'message', 'from', 'parent', 'node', 'key', 'taskHash', 'kind', 'name', 'tool', 'agent', 'source', 'outcome', 'grant', 'about', 'cwd', 'model', 'usage', 'toolCalls', 'question', 'senderTurn', 'inReplyTo', 'trace', 'path', 'revisedBy', 'releasedBy', 'writtenIn',
])

/** R11: names of fields that were looked at once. */
const namesMax = 4096
/** Shorter texts hold nothing worth finding, nor do shorter names of fields. */
const textMin = 8
const nameMin = 16
/** So many texts are compared with each other. */
const alikeMax = 8

export function secretGuard({ env, values = [] }: { env: Readonly<Record<string, string | undefined>>; /** Keys of providers and the like, which need not be in a variable named like one. */ values?: readonly string[] }): SecretGuard {
  const masker = maskerOf([...secretValues(env), ...values])
  const gather = gatherer()
  return {
    masker,
    know: (value) => masker.know(value),
    clean(events) {
      const { texts, named } = gather(events)
      if (!named && (texts.length === 1 || !masker.suspects(texts.join('\n')))) return null
      for (const event of events) for (const [name, value] of Object.entries(event)) if (!ownFields.has(name)) masker.look(value, name)
      const left = events.map((event) => cleanEvent(event, masker))
      return left.some((event, index) => event !== events[index]) ? left : null
    },
  }
}

function cleanEvent(event: Event, masker: Masker): Event {
  let left: Record<string, unknown> | null = null
  for (const [name, value] of Object.entries(event)) {
    if (ownFields.has(name)) continue
    const clean: unknown = masker.value(value, name)
    if (clean !== value) left = { ...(left ?? event), [name]: clean }
  }
  if (left === null) return event
  // The hash of a task is that of the task that is left, or it could be found by trying.
  return ('taskHash' in event && left['task'] !== event.task ? { ...left, taskHash: hashOf(String(left['task'])) } : left) as Event
}

type Gathered = { /** The first is empty. */ texts: string[]; /** A field is named like one that holds a secret. */ named: boolean }

/** Runs for every transaction, so the common events are read field by field; of the others, fields are chosen once for each type. */
function gatherer(): (events: readonly Event[]) => Gathered {
  const names = new Map<string, 'named' | 'text' | 'plain'>()
  const fields = new Map<string, readonly string[]>()
  let texts: string[] = []
  let named = false
  const sortOf = (name: string): 'named' | 'text' | 'plain' => {
    const sort = isSecretField(name) ? 'named' : name.length >= nameMin && /[0-9]/.test(name) ? 'text' : 'plain'
    if (names.size < namesMax) names.set(name, sort)
    return sort
  }
  const push = (text: string): void => {
    if (text.length >= textMin && !(texts.length < alikeMax && texts.includes(text))) texts.push(text)
  }
  const visit = (value: unknown): void => {
    if (typeof value === 'string') return push(value)
    if (value === null || typeof value !== 'object') return
    if (Array.isArray(value)) return value.forEach(visit)
    for (const name in value) {
      const sort = names.get(name) ?? sortOf(name)
      if (sort === 'named') named = true
      else if (sort === 'text') texts.push(name)
      const part = (value as Record<string, unknown>)[name]
      if (typeof part === 'string') push(part)
      else if (typeof part === 'object') visit(part)
    }
  }
  const visitFree = (event: Event): void => {
    const known = fields.get(event.type)
    const free = known ?? freeFields(event)
    if (known === undefined) fields.set(event.type, free)
    for (const name of free) visit(event[name as keyof Event])
    // The one field that is not in every event of its type.
    if ('notices' in event && !free.includes('notices')) visit(event.notices)
  }
  return (events) => {
    texts = ['']
    named = false
    for (const event of events) if (!visitCommon(event, push, visit)) visitFree(event)
    return { texts, named }
  }
}

/** False for what is not common. */
function visitCommon(event: Event, push: (text: string) => void, visit: (value: unknown) => void): boolean {
  if (event.type === 'step.ended') {
    visit(event.output)
    visit(event.input)
  } else if (event.type === 'turn.ended') {
    push(event.output)
    visit(event.error)
    if (event.entry !== null) {
      push(event.entry.asked)
      push(event.entry.answered)
      visit(event.entry.from)
    }
  } else if (event.type === 'call.ended') {
    push(event.output)
    visit(event.errors)
    push(event.cause)
  } else if (event.type === 'call.opened') {
    push(event.task)
    visit(event.attachment)
    visit(event.input)
    visit(event.requested)
    visit(event.outputSchema)
    // Of the manifest only these are texts.
    visit(event.context.summary)
    visit(event.context.workspace)
    visit(event.notices)
  } else return event.type === 'turn.started'
  return true
}

/** Events of one type have the same fields, and numbers stay numbers. */
const freeFields = (event: Event): string[] => Object.keys(event).filter((name) => !ownFields.has(name) && !['number', 'boolean'].includes(typeof event[name as keyof Event]))
