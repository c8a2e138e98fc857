/**
 * R10, checked: every turn of a call, a session or a flow is run again from the log, without model, tools or
 * network, and the events that it would append are compared with those that it did.
 *
 * Compared are its steps, the calls that it opened or was refused, its end, and the end of the call that it
 * served where it was the answer. Waits, claims and endings by a deadline or a cancel
 * are the doing of others. A turn that was cut off is compared up to there, and the result says so.
 */
import { hash } from 'node:crypto'
import { isDriven } from '../../model/agent.ts'
import type { Event, StoredEvent } from '../../model/event.ts'
import type { TurnRow } from '../../model/facts.ts'
import { toCallId } from '../../model/id.ts'
import { isAlikeButMarks, markPattern } from '../../model/secret-mark.ts'
import { listFieldDifferences, type FieldDifference } from './field-differences.ts'
import { collectIds, normaliser, type Normalise } from './normalise.ts'
import { sessionThen, type Timelines } from './replay-facts.ts'
import { replayTurn } from './replay-turn.ts'
import { portsIn, type RecordedTurn, type ReplayPorts, type Rerun } from './replaying.ts'
import { readScope, findScope, type ScopeKind } from '../kernel/scope.ts'

/** Both sides normalised; null where a side has nothing there. */
export type Difference = {
  turn: string
  agent: string
  why: string
  /** Where both sides have an event: the fields in which they differ. */
  fields: FieldDifference[]
  recorded: string | null
  replayed: string | null
}

export type TurnReplay = {
  turn: string
  session: string
  agent: string
  call: string | null
  equal: boolean
  /** Events that are equal. */
  events: number
  /** Why only what came before was compared; null where the whole turn was. */
  stop: string | null
  notes: string[]
  difference: Difference | null
}

export type Replay = {
  id: string
  kind: ScopeKind
  /** No difference anywhere. */
  equal: boolean
  /** Of the normalised events as the replay gave them: the same for the same log on every machine. */
  hash: string
  events: number
  turns: TurnReplay[]
  difference: Difference | null
}

const timelineTypes: ReadonlySet<string> = new Set([
  'step.started',
  'step.ended',
  'call.opened',
  'call.refused',
  'call.ended',
])

export async function replay(ports: ReplayPorts, id: string): Promise<Replay> {
  const scope = await findScope(ports.store, id)
  const events = await readScope(ports.store, scope.turns)
  const byTurn = Map.groupBy(events, ({ event }) => event.turn)
  const ends = new Map(
    events.flatMap((stored) =>
      stored.event.type === 'call.ended' ? [[stored.event.call, stored] as const] : [],
    ),
  )
  const ids = collectIds(events)
  const marked = new Set(
    events.filter(({ event }) => markPattern.test(JSON.stringify(event))).map(({ event }) => event.turn),
  )
  const isRedacted = (event: Event): boolean => marked.has(event.turn)
  const sides = { recorded: normaliser(ids, isRedacted), replayed: normaliser(ids, isRedacted) }
  const timelines: Timelines = new Map()
  const turns: TurnReplay[] = []
  const lines: string[] = []
  for (const row of scope.turns) {
    const own = byTurn.get(row.id) ?? []
    const recorded = await recordedTurn(ports, timelines, row, own, ends.get(toCallId(row.id)) ?? null)
    // A turn that never started did nothing that could be compared.
    if (recorded === null) continue
    turns.push(await replayTwice(ports, recorded, sides, lines))
  }
  const difference = turns.find((turn) => turn.difference !== null)?.difference ?? null
  return {
    id,
    kind: scope.kind,
    equal: difference === null,
    hash: hash('sha256', lines.join('\n'), 'hex'),
    events: lines.length,
    turns,
    difference,
  }
}

async function recordedTurn(
  ports: ReplayPorts,
  timelines: Timelines,
  row: TurnRow,
  own: readonly StoredEvent[],
  ownEnd: StoredEvent | null,
): Promise<RecordedTurn | null> {
  const started = own.find(({ event }) => event.type === 'turn.started')
  const opened = await ports.store.event(row.openedSeq)
  if (started === undefined || opened === null || !('grant' in opened.event)) return null
  const session = await sessionThen(ports.store, timelines, row, started.seq)
  // What a client outside did is its own affair: only what it asked for was recorded.
  if (session === null || session.kind === 'external') return null
  // An agent with a loop of its own did what was seen of it: nobody can make it do that again.
  const agent = portsIn(ports, session.cwd).agents.get(row.grant.agent)
  if (agent !== undefined && isDriven(agent)) return null
  const ended = own.find(({ event }) => event.type === 'turn.ended')?.event
  return {
    row: {
      ...row,
      state: 'running',
      stopping: null,
      endedSeq: null,
      tokensUsed: 0,
      tokensBelow: 0,
      call: row.call === null ? null : { ...row.call, pending: true, outcome: null },
    },
    session,
    input: opened.event,
    timeline: own.filter(({ event }) => timelineTypes.has(event.type)),
    ended: ended?.type === 'turn.ended' ? ended : null,
    ownEnd,
    cancelled: own.find(({ event }) => event.type === 'turn.cancelled') ?? null,
    answers: answersIn(own),
  }
}

/** By the key of the step that a person was asked about. */
function answersIn(own: readonly StoredEvent[]): RecordedTurn['answers'] {
  const keys = new Map<string, string>()
  const answers: RecordedTurn['answers'] = new Map()
  for (const { event } of own) {
    if (event.type === 'question.asked') keys.set(event.question, event.key)
    if (event.type === 'question.answered')
      answers.set(keys.get(event.question) ?? '', {
        answer: event.answer,
        by: event.by,
        reason: event.reason ?? null,
      })
  }
  return answers
}

type Sides = { recorded: Normalise; replayed: Normalise }

/**
 * What a driver says while it is answered is not in the record, and decides what is kept of a turn that did
 * not finish: most say their answers, some say nothing.
 */
async function replayTwice(
  server: ReplayPorts,
  recorded: RecordedTurn,
  sides: Sides,
  lines: string[],
): Promise<TurnReplay> {
  const ports = portsIn(server, recorded.session.cwd)
  const before = lines.length
  const first = await replayOne(ports, recorded, sides, lines, true)
  if (first.equal || recorded.ended === null || recorded.ended.outcome === 'completed') return first
  const rest = lines.splice(before)
  const second = await replayOne(ports, recorded, sides, lines, false)
  if (second.equal) return second
  lines.splice(before, Infinity, ...rest)
  return first
}

async function replayOne(
  ports: ReplayPorts,
  recorded: RecordedTurn,
  sides: Sides,
  lines: string[],
  says: boolean,
): Promise<TurnReplay> {
  const { row } = recorded
  const result: TurnReplay = {
    turn: row.id,
    session: row.session,
    agent: row.grant.agent,
    call: row.call?.id ?? null,
    equal: false,
    events: 0,
    stop: null,
    notes: [],
    difference: null,
  }
  const differ = (why: string, ours: string | null, theirs: string | null): TurnReplay => ({
    ...result,
    difference: {
      turn: row.id,
      agent: row.grant.agent,
      why,
      fields: listFieldDifferences(ours, theirs),
      recorded: ours,
      replayed: theirs,
    },
  })
  if (ports.agents.get(row.grant.agent) === undefined) {
    return differ(
      `the agent "${row.grant.agent}" is not configured here, so its turns cannot be run again; the known ones ` +
        `are ${ports.agents.names().join(', ') || 'none'}`,
      null,
      null,
    )
  }
  const rerun = await replayTurn(ports, recorded, says)
  result.stop = rerun.stop
  result.notes = rerun.notes
  const left = new Set(rerun.events)
  for (const event of expected(recorded, rerun)) {
    const given = take(left, event, rerun.keys.get(event))
    if (given === undefined && rerun.departure !== null) break
    const ours = sides.recorded(event)
    const theirs = given === undefined ? null : sides.replayed(given)
    // What was masked where it was found may be used unmasked elsewhere; the turn that runs again has only
    // the mark.
    if (theirs === null || !isAlikeButMarks(ours, theirs))
      return differ(
        theirs === null ? 'a recorded event did not happen again' : `${event.type} is not what it was`,
        ours,
        theirs,
      )
    lines.push(ours)
    result.events += 1
  }
  const { departure } = rerun
  if (departure !== null)
    return differ(
      departure.why,
      departure.recorded === null ? null : sides.recorded(departure.recorded),
      departure.asked,
    )
  const extra = [...left].find((event) => isOfTurn(event, row))
  if (extra !== undefined)
    return differ('something happened that is not in the record', null, sides.replayed(extra))
  return { ...result, equal: true }
}

/** The end of a call below is the doing of others, also where a call was given no time at all. */
const isOfTurn = (event: Event, { call }: TurnRow): boolean =>
  timelineTypes.has(event.type) && (event.type !== 'call.ended' || event.call === call?.id)

/** What the turn itself recorded, in order. */
function expected({ timeline, ended, ownEnd }: RecordedTurn, { stop }: Rerun): Event[] {
  const events = timeline.flatMap(({ event }) => (event.type === 'call.ended' ? [] : [event]))
  if (stop !== null || ended === null) return events
  const answered =
    ownEnd?.event.type === 'call.ended' && ownEnd.event.cause === 'answered' ? [ownEnd.event] : []
  return [...events, ended, ...answered]
}

/** The event that the replay gave for a recorded one. */
function take(left: Set<Event>, event: Event, key: string | undefined): Event | undefined {
  for (const given of left) {
    const decidedOtherwise =
      (given.type === 'call.opened' && event.type === 'call.refused') ||
      (given.type === 'call.refused' && event.type === 'call.opened')
    if (
      (given.type !== event.type && !decidedOtherwise) ||
      ('key' in event && 'key' in given && given.key !== (key ?? event.key))
    )
      continue
    if ('call' in event && 'call' in given && given.call !== event.call) continue
    left.delete(given)
    return given
  }
  return undefined
}
