/**
 * What a turn did before: steps and calls read back from the log, matched by kind, canonical request and
 * occurrence.
 * R10: a turn that is run again from its recorded steps gives the same events; only the first unrecorded
 * effect runs for real.
 */
import { hash } from 'node:crypto'
import { addSpent, nothingSpent, readSpent, type Spent } from '../../model/money.ts'
import type { EventOf, EventType, StoredEvent } from '../../model/event.ts'
import type { TurnRow } from '../../model/facts.ts'
import { fingerprint } from '../../model/fingerprint.ts'
import { canonical, type Json } from '../../model/json.ts'
import { runTypes } from '../../model/runs.ts'
import { isAlikeButMarks, markPattern } from '../../model/secret-mark.ts'
import type { Store } from './store-port.ts'
export type RecordedCall = EventOf<'call.opened'> | EventOf<'call.refused'>
export type RecordedStep = EventOf<'step.ended'> | EventOf<'step.started'>
/** Undefined inputs and tasks are not compared. */
export type StepLike = { kind: string; name: string; input?: Json }
export type CallLike = { tool: string; task?: string }
export type Recorded = {
  /**
   * The next recorded result for this key: ended, or started without a result. Where secrets were masked in
   * the record, keys may not be the same; then the next one that is `like` it but for the marks.
   */
  step(key: string, like: StepLike): RecordedStep | undefined
  call(key: string, like: CallLike): RecordedCall | undefined
  readonly events: readonly StoredEvent[]
  /** Of all its runs: when each began, what it recorded, and what it waited for. */
  readonly runs: readonly StoredEvent[]
}

/**
 * Requests come from recorded answers or from the same code, so their fields have the same order when a turn
 * is run again. A request that leaves out what we worded (`turns/matched-by.ts`) has a key that says so.
 */
export const makeStepKey = (kind: string, name: string, request: unknown): string =>
  (isWorded(request) ? wordedMark : '') + fingerprint(kind, '\n', name, '\n', JSON.stringify(request))

const wordedMark = 'w-'
const isWorded = (request: unknown): boolean =>
  typeof request === 'object' && request !== null && 'worded' in request && request.worded === true

/**
 * Whether a model step was recorded before keys left out what we worded: its key has the words of that time in
 * it. It is then found by its place: everything that was decided in between is compared on its own.
 */
export const isOlderWording = (
  wanted: { kind: string; name: string; key: string },
  step: { kind: string; name: string; key: string },
): boolean =>
  wanted.kind === 'model' &&
  wanted.key.startsWith(wordedMark) &&
  step.kind === 'model' &&
  step.name === wanted.name &&
  !step.key.startsWith(wordedMark)

export const hashText = (text: string): string => hash('sha256', text, 'base64url')

const pageSize = 1000
const effects: ReadonlySet<EventType> = new Set(['step.started', 'step.ended', 'call.opened', 'call.refused'])

export async function readRecorded(store: Store, row: TurnRow): Promise<Recorded> {
  const runs: StoredEvent[] = []
  for (let after = row.openedSeq - 1; ;) {
    const page = await store.read(after, { sessions: [row.session], types: runTypes }, pageSize)
    runs.push(...page.events.filter((stored) => stored.event.turn === row.id))
    if (!page.more) break
    after = page.next
  }
  const events = runs.filter(({ event }) => effects.has(event.type))
  const input = await store.event(row.openedSeq)
  let marked: boolean | null = null
  // Looked at only when a key was not found, which is once where nothing was taken out.
  return {
    ...index(events, () => (marked ??= markPattern.test(JSON.stringify([input, events])))),
    events,
    runs,
  }
}

/**
 * R7: what earlier runs of the turn have used stays charged, also where it ends before it has repeated its steps,
 * and where nobody asks for one of them again.
 */
export function countUsed(recorded: Recorded | null): { tokensUsed: number; spent: Spent } {
  const sum = { tokensUsed: 0, spent: nothingSpent }
  for (const { event } of recorded?.events ?? []) {
    if (event.type !== 'step.ended' || event.usage === null) continue
    sum.tokensUsed += event.usage.input + event.usage.output
    sum.spent = addSpent(sum.spent, readSpent(event.usage))
  }
  return sum
}

function index(stored: readonly StoredEvent[], marked: () => boolean): Pick<Recorded, 'step' | 'call'> {
  const steps = new Map<string, (EventOf<'step.ended'> | EventOf<'step.started'>)[]>()
  const calls = new Map<string, RecordedCall[]>()
  for (const { event } of stored) {
    if (event.type === 'step.started') put(steps, event.key, event)
    if (event.type === 'step.ended') {
      // A result replaces the "started" that announced it.
      const open = (steps.get(event.key) ?? []).findIndex((step) => step.type === 'step.started')
      const list = steps.get(event.key)
      if (open >= 0 && list !== undefined) list[open] = event
      else put(steps, event.key, event)
    }
    if (event.type === 'call.opened' || event.type === 'call.refused') put(calls, event.key, event)
  }
  return {
    step: (key, { kind, name, input }) =>
      steps.get(key)?.shift() ??
      takeLike(steps, (step) => isOlderWording({ kind, name, key }, step)) ??
      (marked()
        ? takeLike(
            steps,
            (step) =>
              step.kind === kind &&
              step.name === name &&
              (input === undefined || isAlikeButMarks(canonical(step.input), canonical(input))),
          )
        : undefined),
    call: (key, { tool, task }) =>
      calls.get(key)?.shift() ??
      (marked()
        ? takeLike(
            calls,
            (call) => call.tool === tool && (task === undefined || isAlikeButMarks(call.task, task)),
          )
        : undefined),
  }
}

/** The oldest that is left: maps keep the order in which keys came, and what was taken is gone. */
function takeLike<T>(map: Map<string, T[]>, isLike: (value: T) => boolean): T | undefined {
  for (const list of map.values()) {
    const [first] = list
    if (first !== undefined && isLike(first)) return list.shift()
  }
  return undefined
}

function put<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}
