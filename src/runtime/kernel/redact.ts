/**
 * Masks secrets in events that leave the machine. The same as on the way into the log, but stricter: better
 * one too many.
 * What was masked before it was written keeps its mark.
 */
import type { Event } from '../../model/event.ts'
import { createMasker } from '../../model/mask-secrets.ts'
import { secretValues } from '../../model/secret-shapes.ts'
import { hashText } from './recorded.ts'
import { idFields, isOwn } from './secret-guard.ts'

type Env = Readonly<Record<string, string | undefined>>

const ownFields: ReadonlySet<string> = new Set(idFields)

export type Redactor = {
  redact(event: Event): Event
  /** The same for what is no event. */
  mask<T>(value: T): T
  /** How many different secrets were masked until now. */
  count(): number
}

export function createRedactor(env: Env): Redactor {
  const secrets = new Set<string>()
  const masker = createMasker(secretValues(env), { strict: true, onSecret: (secret) => secrets.add(secret) })
  const change = (event: Event, name: string, value: unknown): unknown =>
    isOwn(ownFields, event, name) ? value : masker.value(value, name)
  return {
    count: () => secrets.size,
    mask: (value) => masker.value(value, '') as typeof value,
    redact: (event) =>
      withHash(
        Object.fromEntries(
          Object.entries(event).map(([name, value]) => [name, change(event, name, value)]),
        ) as Event,
        event,
      ),
  }
}

/** The hash of a text is that of the text that is left. */
function withHash(event: Event, before: Event): Event {
  if (!('taskHash' in event) || !('taskHash' in before) || event.task === before.task) return event
  return { ...event, taskHash: hashText(event.task) }
}
