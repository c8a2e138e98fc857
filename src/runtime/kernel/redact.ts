/**
 * Masks secrets in events that leave the machine. The same as on the way into the log, but stricter: better
 * one too many.
 * What was masked before it was written keeps its mark.
 */
import type { Event } from '../../model/event.ts'
import { createMasker, looking, type Known } from '../../model/mask-secrets.ts'
import { secretValues } from '../../model/secret-shapes.ts'
import { hashText } from './recorded.ts'
import { idFields, isOwn } from './secret-guard.ts'

type Env = Readonly<Record<string, string | undefined>>

const ownFields: ReadonlySet<string> = new Set(idFields)

export type Redactor = {
  redact(event: Event): Event
  /** The same for an event with long texts: looks at them in slices, and yields after each. */
  redactGently(event: Event): Generator<undefined, Event>
  /** The same for what is no event. */
  mask<T>(value: T): T
  /** How many different secrets were masked until now. */
  count(): number
}

export function createRedactor(env: Env): Redactor {
  const secrets = new Set<string>()
  const masker = createMasker(secretValues(env), { strict: true, onSecret: (secret) => secrets.add(secret) })
  const redact = (event: Event, known: Known | null): Event => {
    const change = (name: string, value: unknown): unknown =>
      isOwn(ownFields, event, name) ? value : masker.value(value, name, looking(known, Infinity))
    const fields = Object.entries(event).map(([name, value]) => [name, change(name, value)] as const)
    return withHash(Object.fromEntries(fields) as Event, event)
  }
  return {
    count: () => secrets.size,
    mask: (value) => masker.value(value, '') as typeof value,
    redact: (event) => redact(event, null),
    *redactGently(event) {
      const free = Object.entries(event).filter(([name]) => !isOwn(ownFields, event, name))
      return redact(event, yield* masker.inspect(free))
    },
  }
}

/** The hash of a text is that of the text that is left. */
function withHash(event: Event, before: Event): Event {
  if (!('taskHash' in event) || !('taskHash' in before) || event.task === before.task) return event
  return { ...event, taskHash: hashText(event.task) }
}
