/** What was acknowledged, and whether the log has each of it exactly once. */
import type { Event, EventOf, StoredEvent } from '../src/model/event.ts'
import { toTurnId } from '../src/model/id.ts'
import { opensTurn } from '../src/model/opening.ts'
import { viewsEqual } from '../src/store/rebuild.ts'
import { sqliteStore } from '../src/store/sqlite.ts'

export type Call = { body: object; call: string; outcome: string }

export class Ledger {
  /** The session of each message, by its id. */
  readonly messages = new Map<string, string>()
  readonly calls = new Map<string, Call>()
  readonly sessions = new Map<string, string>()
  readonly drafts = new Set<string>()
  /** What was said in a turn that was answered. */
  readonly turns = new Set<string>()
  retries = 0
  /** Answers that no honest client should get. */
  readonly odd: string[] = []

  get size(): number {
    return this.messages.size + this.calls.size + this.sessions.size + this.drafts.size + this.turns.size
  }
}

export async function readLog(dataDir: string): Promise<{ events: Event[]; views: string | null }> {
  const store = sqliteStore({ directory: dataDir, now: Date.now })
  const stored: StoredEvent[] = []
  for (let after = 0; ;) {
    const page = await store.read(after, {}, 10_000)
    if (page.events.length === 0) break
    stored.push(...page.events)
    after = page.next
  }
  const { equal, difference } = viewsEqual(store.db)
  await store.close()
  return {
    events: stored.map(({ event }) => event),
    views: equal ? null : JSON.stringify(difference).slice(0, 300),
  }
}

function countBy<T>(items: readonly T[], key: (item: T) => string | null): Map<string, number> {
  const counts = new Map<string, number>()
  for (const item of items) {
    const name = key(item)
    if (name !== null) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return counts
}

const typed = <T extends Event['type']>(events: readonly Event[], type: T): EventOf<T>[] =>
  events.filter((event): event is EventOf<T> => event.type === type)

/** Acknowledged acts that the log does not have exactly once. */
export function lostOrDoubled(ledger: Ledger, events: readonly Event[]): string[] {
  const problems: string[] = []
  const expectOnce = (what: string, names: Iterable<string>, counts: ReadonlyMap<string, number>): void => {
    for (const name of names)
      if (counts.get(name) !== 1)
        problems.push(`${what} ${name} is in the log ${counts.get(name) ?? 0} times`)
  }
  const sent = typed(events, 'message.sent')
  expectOnce(
    'message',
    ledger.messages.keys(),
    countBy(sent, ({ message, text }) => (text === `letter ${message}` ? message : null)),
  )
  expectOnce(
    'session',
    ledger.sessions.values(),
    countBy(typed(events, 'session.created'), (event) => event.session),
  )
  expectOnce(
    'draft',
    ledger.drafts,
    countBy(typed(events, 'message.drafted'), ({ message }) => message),
  )
  expectOnce(
    'turn',
    ledger.turns,
    countBy(sent, ({ text }) => text),
  )
  const ended = new Map(typed(events, 'call.ended').map((event) => [event.call as string, event]))
  const opened = countBy(typed(events, 'call.opened'), (event) => event.task)
  for (const { call, outcome, body } of ledger.calls.values()) {
    const { task } = body as { task: string }
    const own = call === '' ? endOfAsk(events, task) : null
    // A client's turn that met two ends of its process before it had recorded anything is not tried a third
    // time, and its client is told so.
    if (own?.outcome === outcome && own.error?.startsWith('crashed_twice') === true && !opened.has(task))
      continue
    if (own !== null)
      problems.push(`${task}: its client's turn ended with ${own.outcome} (${own.error ?? 'no error'})`)
    const recorded = ended.get(call)?.outcome
    if (recorded !== outcome)
      problems.push(
        `${task} was answered with ${outcome} (${call === '' ? 'no id' : call}), ` +
          `and the log has ${recorded ?? 'no end'}`,
      )
    if ((opened.get(task) ?? 0) !== 1) problems.push(`${task} was begun ${opened.get(task) ?? 0} times`)
  }
  return problems
}

/** The end of the turn in which a client asked for this task. */
function endOfAsk(events: readonly Event[], task: string): EventOf<'turn.ended'> | null {
  const asked = typed(events, 'message.sent').find(({ use }) =>
    JSON.stringify(use?.input ?? null).includes(JSON.stringify(task)),
  )
  return typed(events, 'turn.ended').find(({ turn }) => turn === asked?.turn) ?? null
}

/** Calls and turns that have no end, or more than one. */
export function withoutOneEnd(events: readonly Event[]): string[] {
  const callEnds = countBy(typed(events, 'call.ended'), ({ call }) => call)
  const turnEnds = countBy(typed(events, 'turn.ended'), ({ turn }) => turn)
  const problems: string[] = []
  for (const { call } of typed(events, 'call.opened')) {
    if (callEnds.get(call) !== 1) problems.push(`${call} has ${callEnds.get(call) ?? 0} outcomes`)
    if ((turnEnds.get(toTurnId(call)) ?? 0) > 1)
      problems.push(`${toTurnId(call)} has ${turnEnds.get(toTurnId(call)) ?? 0} ends`)
  }
  for (const event of events)
    if (opensTurn(event) && turnEnds.get(event.turn) !== 1)
      problems.push(`${event.turn} (${event.grant.agent}) has ${turnEnds.get(event.turn) ?? 0} ends`)
  return problems
}
