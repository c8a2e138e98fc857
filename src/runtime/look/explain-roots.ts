/** One true sentence for each root: where it stands, however many calls lie in between. */
import type { StoredEvent } from '../../model/event.ts'
import type { TurnRow } from '../../model/facts.ts'
import type { ExplainedRoot, ExplainedWait, WaitedFor } from '../../wire/explain.ts'
import type { Scope } from '../kernel/scope.ts'
import { nameClient } from './explain-names.ts'
import type { ExplainPorts, Known } from './explain-ports.ts'
import { busyWords, deadlineWords, endWords, lengthWords, line } from './explanation-text.ts'

/** R11: the newest, and all that have not ended. */
const endedShownMax = 20
const hopsMax = 16

export async function explainRoots(
  { store }: ExplainPorts,
  scope: Scope,
  events: readonly StoredEvent[],
  known: Known,
  clients: ReadonlySet<string>,
): Promise<ExplainedRoot[]> {
  const ids = new Set(scope.turns.map(({ id }) => id))
  const tops = scope.turns.filter(({ call }) => call === null || !ids.has(call.callerTurn))
  const recent = new Set(tops.slice(-endedShownMax))
  const roots = tops
    .filter((row) => row.state !== 'ended' || recent.has(row))
    .map((row) => explainRoot(row, events, known, clients.has(row.id)))
  if (roots.length > 0) return roots
  const [refused] = known.refused
  const session = scope.kind === 'session' ? await store.session(scope.id as TurnRow['session']) : null
  const agent =
    session?.kind === 'external'
      ? await nameClient(store, session.id)
      : (session?.agent ?? refused?.caller ?? '')
  const waiting = known.mail.length
  const place = { flow: null, turn: null, session: session?.id ?? '', agent, on: null }
  return [
    refused === undefined
      ? {
          ...place,
          state: 'ended',
          sentence: `${scope.id} has not run anything yet${
            waiting === 0
              ? '.'
              : `, and ${waiting === 1 ? 'one message waits' : `${waiting} messages wait`} for it.`
          }`,
        }
      : { ...place, state: 'refused', sentence: refusedWords(scope.id, refused) },
  ]
}

const refusedWords = (id: string, { caller, agent, why }: Known['refused'][number]): string =>
  `${id} was refused, so nothing ran: ${line(caller)} asked for ${line(agent) || 'somebody'}. ${line(why)}`

function explainRoot(
  row: TurnRow,
  events: readonly StoredEvent[],
  known: Known,
  isClient: boolean,
): ExplainedRoot {
  const place = { flow: row.flow, turn: row.id, session: row.session, agent: row.grant.agent }
  if (row.state === 'ended')
    return { ...place, state: 'ended', on: null, sentence: endedSentence(row, events, known, isClient) }
  const { words, on } = follow(row.id, known)
  return {
    ...place,
    state: on === null ? 'works' : 'waits',
    on,
    sentence: `${line(row.grant.agent)} ${words}.`,
  }
}

/** From a turn along what it waits for, down to where it stands. With several, the first is told. */
function follow(top: string, { waits, busy, now }: Known): { words: string; on: WaitedFor | null } {
  const words: string[] = []
  let at = top
  const passed = new Set<string>()
  for (let hops = 0; hops < hopsMax; hops += 1) {
    passed.add(at)
    const own = waits.filter(({ turn }) => turn === at)
    const wait = own.find(({ by }) => by === 'person') ?? own[0]
    if (wait === undefined) {
      const one = busy.find(({ turn }) => turn === at)
      words.push(one === undefined ? 'works' : busyWords(one, now))
      return { words: words.join(', which '), on: null }
    }
    const more = own.length > 1 ? ` and ${own.length - 1} more` : ''
    words.push(`${waitWords(wait, now)}${more}`)
    if (wait.by !== 'call' && wait.by !== 'wait' && wait.by !== 'queue')
      return { words: words.join(', which '), on: wait.by }
    if (wait.forTurn === null || passed.has(wait.forTurn))
      return { words: words.join(', which '), on: wait.by }
    at = wait.forTurn
  }
  return { words: words.join(', which '), on: 'call' }
}

function waitWords(wait: ExplainedWait, now: number): string {
  const left = wait.deadline === null ? '' : `, ${deadlineWords(wait.deadline, now)}`
  switch (wait.by) {
    case 'call':
      return `waits for ${line(wait.forAgent)} (${wait.call ?? wait.forSession}${left})`
    case 'wait':
      return `waits for ${line(wait.forAgent) || 'a session'} (${wait.call ?? wait.forSession}${left})`
    case 'queue':
      return wait.forTurn === null
        ? `is queued in ${wait.session} and starts with the next look at it`
        : `is queued as number ${Math.max(1, wait.ahead)} behind ${line(wait.forAgent)} ` +
            `(${wait.forTurn}) in ${wait.session}`
    case 'person':
      return (
        `has waited ${lengthWords(now - wait.since)} for a person to allow or deny ${line(wait.tool ?? '')} ` +
        `(${wait.question ?? ''}${left}; without an answer it is denied)`
      )
    case 'program':
      return (
        `has waited ${lengthWords(now - wait.since)} for the program that runs ${wait.session}: it is not ` +
        `connected, and this goes on when it is${left}`
      )
    case 'tokens':
      return `waits for tokens that ${line(wait.forAgent)} (${wait.call ?? ''}) holds until it has stopped`
    case 'server':
      return `stands still: no server runs on this log, and it goes on when one does`
  }
}

/** A client's own turn ends well whatever it asked for; then what it asked for counts. */
function endedSentence(
  row: TurnRow,
  events: readonly StoredEvent[],
  { ended, refused, mail, now }: Known,
  isClient: boolean,
): string {
  const agent = line(row.grant.agent)
  const bad = ended.find(({ what }) => what === row.id || what === row.call?.id)
  const waiting =
    mail.length === 0 ? '' : ` ${mail.map(({ message, why }) => `${message} ${why}.`).join(' ')}`
  if (bad !== undefined) {
    const because = bad.because.length === 0 ? '' : ` Because ${bad.because.join(', because ')}.`
    return `${agent} ended ${lengthWords(now - bad.at)} ago: ${endWords(bad)}.${because}${waiting}`
  }
  const asked = events.findLast(({ event }) => event.turn === row.id && isEndOfCall(event.type))?.event
  if (isClient && asked?.type === 'call.refused') {
    const why = refused.find(({ call }) => call === asked.call)
    if (why !== undefined) return `${refusedWords(asked.call, why)}${waiting}`
  }
  const below =
    isClient && asked?.type === 'call.ended' ? ended.find(({ what }) => what === asked.call) : undefined
  if (below !== undefined)
    return `${line(below.agent)} ended ${lengthWords(now - below.at)} ago: ${endWords(below)}.${waiting}`
  const end = events.findLast(({ event }) => event.turn === row.id && event.type === 'turn.ended')
  const when = end === undefined ? '' : `, ${lengthWords(now - end.at)} ago`
  return `${agent} is done${when}.${waiting}`
}

const isEndOfCall = (type: StoredEvent['event']['type']): boolean =>
  type === 'call.refused' || type === 'call.ended'
