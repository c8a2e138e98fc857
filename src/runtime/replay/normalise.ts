/**
 * Events as text that is equal wherever the same thing happened: no clock, no node, no epoch, ids and keys by
 * the order in which they first appear, canonical key order; codes instead of the words that we put to them,
 * which are other ones in another release.
 */
import type { Event, StoredEvent } from '../../model/event.ts'
import { canonical } from '../../model/json.ts'

/**
 * Fields of events that only say when and where, or were drawn. Those inside of inputs and outputs are what
 * an agent saw, and stay.
 */
const clockFields: ReadonlySet<string> = new Set([
  'node',
  'epoch',
  'deadline',
  'startedAt',
  'openedAt',
  'endedAt',
  'until',
  'boundary',
  'boundBy',
  // What was added since 0.1.0, and the words in it.
  'told',
  'notes',
])
/**
 * Counts and hashes of texts: where a secret was taken out of a text they are no longer those of the text.
 */
const derivedFields: ReadonlySet<string> = new Set([
  'taskHash',
  'outputBytes',
  'tokens',
  'parts',
  'askedTokens',
  'answeredTokens',
])

const idLike = /\b(ses|turn|call|flow|msg|node)_[A-Za-z0-9_.-]*[A-Za-z0-9]/g

/** All ids that events carry in their own fields: only these are mapped where they stand in texts. */
export function collectIds(events: readonly StoredEvent[]): Set<string> {
  const ids = new Set<string>()
  for (const { event } of events) {
    for (const [name, value] of Object.entries(event))
      if (
        ['session', 'turn', 'call', 'flow', 'target', 'message', 'from', 'parent', 'node', 'about'].includes(
          name,
        ) &&
        typeof value === 'string'
      )
        ids.add(value)
    if ('grant' in event) for (const hop of event.grant.path) ids.add(hop.session)
  }
  return ids
}

export type Normalise = (event: Event) => string

/** Keeps what it has seen: the events of one side are given to one of these, in order. */
export function normaliser(ids: ReadonlySet<string>, redacted: (event: Event) => boolean): Normalise {
  const names = new Map<string, string>()
  const counts = new Map<string, number>()
  const nameId = (given: string, kind: string): string => {
    const known = names.get(`${kind} ${given}`)
    if (known !== undefined) return known
    const count = (counts.get(kind) ?? 0) + 1
    counts.set(kind, count)
    const name = `${kind}${count}`
    names.set(`${kind} ${given}`, name)
    return name
  }
  return (event) => {
    const plain = withoutWords(event, withoutClock(event, redacted(event)))
    // A key finds a step of its own turn, and of no other.
    const key = 'key' in event ? { key: nameId(`${event.turn ?? ''} ${event.key}`, 'key_') } : {}
    return canonical({ ...plain, ...key }).replaceAll(idLike, (text: string, kind: string) =>
      ids.has(text) ? nameId(text, `${kind}_`) : text,
    )
  }
}

function withoutClock(event: Event, redacted: boolean): Record<string, unknown> {
  const left = (value: object): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(value).filter(
        ([name]) => !clockFields.has(name) && !(redacted && derivedFields.has(name)),
      ),
    )
  const plain = left(event)
  if (event.type === 'turn.ended' && event.entry !== null) plain['entry'] = left(event.entry)
  if (event.type === 'call.opened' && redacted) plain['context'] = left(event.context)
  return plain
}

/** Of a refusal: what was decided about what. The rest explains it. */
const decidedFields = ['code', 'field', 'tool', 'agent', 'session', 'call', 'depth', 'depthMax'] as const

function withoutWords(event: Event, plain: Record<string, unknown>): Record<string, unknown> {
  if (event.type === 'call.refused') {
    const kept = decidedFields.flatMap((name) =>
      name in event.refusal ? [[name, (event.refusal as Record<string, unknown>)[name]]] : [],
    )
    return { ...plain, refusal: Object.fromEntries(kept) }
  }
  // 0.1.0 listed tools that were refused too; what they did is compared on its own.
  if (event.type === 'call.ended')
    return { ...plain, toolCalls: null, errors: event.errors.map((error) => codeOf(event.outcome, error)) }
  if (event.type !== 'turn.ended') return plain
  if (event.error === null) return { ...plain, toolCalls: null }
  const said = plain['entry'] as Record<string, unknown> | null
  const isError = event.entry?.answered === `[${event.error}]`
  const entry = isError ? { ...said, answered: null, answeredTokens: null } : said
  return { ...plain, toolCalls: null, error: codeOf(event.outcome, event.error), entry }
}

/** The code that an error begins with; where it has none, what it says before it goes into details. */
function codeOf(outcome: string, error: string): string {
  if (outcome !== 'failed' && outcome !== 'lost') return outcome
  return /^[a-z][a-z_]*(?=:)/.exec(error)?.[0] ?? error.split(';')[0] ?? error
}
