/**
 * Secrets never enter the log: what is about to be appended is looked at, and a secret is replaced by a mark
 * before anything is written or folded. Nothing that was written is ever changed.
 *
 * A turn that is running keeps what it has in memory, so tools still work with the real values; the log,
 * everybody who reads it later, and a turn that is taken up again after a crash see the marks.
 * Nothing is learned from what agents write: whether a text is masked depends on that text and on what the
 * server was started with.
 */
import type { Event } from '../../model/event.ts'
import { looking, createMasker, type Known, type Looking, type Masker } from '../../model/mask-secrets.ts'
import { secretValues } from '../../model/secret-shapes.ts'
import type { Cleaner } from './store-port.ts'
import { hashText } from './recorded.ts'
import { nextRound } from './next-round.ts'

export type SecretGuard = Cleaner<Known> & {
  /**
   * The events as they may be written; null where they may be written as they are. Undefined where it takes
   * longer to find out than others may be held up: then `inspect` does, and the answer is given with what it
   * found. Pure.
   */
  clean(events: readonly Event[], known?: Known | null): readonly Event[] | null | undefined
  /** Looks at all texts of these events in slices, between which others run. */
  inspect(events: readonly Event[]): Promise<Known>
  /** For lines of logs and warnings, which must not say what the log does not. */
  readonly masker: Masker
}

/** Fields of events that are ours: ids, names and hashes, never an agent's text. */
export const idFields: readonly string[] = [
  'type',
  'session',
  'turn',
  'call',
  'flow',
  'target',
  'message',
  'from',
  'parent',
  'node',
  'key',
  'taskHash',
  'kind',
  'tool',
  'agent',
  'source',
  'outcome',
  'grant',
  'about',
  'boundary',
]

/** With names, places and numbers that stay on this machine. */
export const ownFields: ReadonlySet<string> = new Set([
  ...idFields,
  'name',
  'cwd',
  'model',
  'usage',
  'toolCalls',
  'question',
  'senderTurn',
  'inReplyTo',
  'trace',
  'path',
  'revisedBy',
  'releasedBy',
  'writtenIn',
  'revives',
  'told',
  'boundBy',
])

/** The agent of a call that was refused is whatever the model asked for. */
export const isOwn = (fields: ReadonlySet<string>, { type }: Event, name: string): boolean =>
  fields.has(name) && !(name === 'agent' && type === 'call.refused')

type GuardOptions = {
  env: Readonly<Record<string, string | undefined>>
  /** Keys of providers and the like, which need not be in a variable named like one. */
  values?: readonly string[]
}

/** Hostile texts take a tenth of a microsecond for each unit. */
const unitsAtOnceMax = 128 * 1024

export function secretGuard({ env, values = [] }: GuardOptions): SecretGuard {
  const masker = createMasker([...secretValues(env), ...values])
  const isClean = cleanCheck(masker)
  return {
    masker,
    clean(events, known = null) {
      // What was inspected has all that is long.
      const look = looking(known, known === null ? unitsAtOnceMax : Infinity)
      if (isClean(events, look)) return look.unitsLeft < 0 ? undefined : null
      const left = events.map((event) => cleanEvent(event, masker, look))
      if (look.unitsLeft < 0) return undefined
      return left.some((event, index) => event !== events[index]) ? left : null
    },
    async inspect(events) {
      const inspecting = masker.inspect(events.flatMap(listFree))
      for (;;) {
        await nextRound()
        const step = inspecting.next()
        if (step.done === true) return step.value
      }
    },
  }
}

const listFree = (event: Event): (readonly [string, unknown])[] =>
  Object.entries(event).filter(([name]) => !isOwn(ownFields, event, name))

function cleanEvent(event: Event, masker: Masker, look: Looking): Event {
  let left: Record<string, unknown> | null = null
  for (const [name, value] of Object.entries(event)) {
    if (isOwn(ownFields, event, name)) continue
    const clean: unknown = masker.value(value, name, look)
    if (clean !== value) left = { ...(left ?? event), [name]: clean }
  }
  if (left === null) return event
  // The hash of a task is that of the task that is left, or it could be found by trying.
  return (
    'taskHash' in event && left['task'] !== event.task
      ? { ...left, taskHash: hashText(String(left['task'])) }
      : left
  ) as Event
}

/**
 * Runs for every transaction, so the common events are read field by field; of the others, fields are chosen
 * once for each type.
 */
function cleanCheck(masker: Masker): (events: readonly Event[], look: Looking) => boolean {
  const fields = new Map<string, readonly string[]>()
  let now = looking(null, 0)
  const check = (value: unknown, name: string): boolean => masker.isClean(value, name, now)
  const checkFree = (event: Event): boolean => {
    const known = fields.get(event.type)
    const free = known ?? freeFields(event)
    if (known === undefined) fields.set(event.type, free)
    for (const name of optionalFields)
      if (name in event && !free.includes(name) && !check(event[name as keyof Event], name)) return false
    return free.every((name) => check(event[name as keyof Event], name))
  }
  return (events, look) => {
    now = look
    return events.every((event) => checkCommon(event, check) ?? checkFree(event))
  }
}

/** Free text that is not in every event of its type. */
const optionalFields = ['notices', 'use', 'reason']

/** Undefined for what is not common. */
function checkCommon(event: Event, check: (value: unknown, name: string) => boolean): boolean | undefined {
  if (event.type === 'step.ended') return check(event.output, 'output') && check(event.input, 'input')
  if (event.type === 'turn.ended')
    return (
      check(event.output, 'output') &&
      check(event.error, 'error') &&
      check(event.entry, 'entry') &&
      check(event.moved, 'moved')
    )
  if (event.type === 'call.ended')
    return (
      check(event.output, 'output') &&
      check(event.errors, 'errors') &&
      check(event.cause, 'cause') &&
      check(event.moved, 'moved')
    )
  if (event.type !== 'call.opened') return event.type === 'turn.started' ? true : undefined
  // Of the manifest only these are texts.
  return (
    check(event.task, 'task') &&
    check(event.attachment, 'attachment') &&
    check(event.input, 'input') &&
    check(event.requested, 'requested') &&
    check(event.outputSchema, 'outputSchema') &&
    check(event.context.summary, 'summary') &&
    check(event.context.workspace, 'workspace') &&
    check(event.notices, 'notices') &&
    check(event.notes, 'notes')
  )
}

/** Events of one type have the same fields, and numbers stay numbers. */
const freeFields = (event: Event): string[] =>
  Object.keys(event).filter(
    (name) =>
      !isOwn(ownFields, event, name) && !['number', 'boolean'].includes(typeof event[name as keyof Event]),
  )
