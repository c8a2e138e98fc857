/**
 * The laws of the simulator, on the log of real processes: the same ledger and the same predicates. Who wrote a
 * row is known from its mark: the activations that a store's marks record name its node.
 */
import { Agent } from '../src/model/agent.ts'
import type { Event } from '../src/model/event.ts'
import type { NodeId, TurnId } from '../src/model/id.ts'
import { Limits } from '../src/model/limits.ts'
import { checkAfter, checkBefore } from '../sim/laws.ts'
import { Ledger, type Written } from '../sim/ledger.ts'
import type { Row } from './read-log.ts'
import { limits } from './scene.ts'

const usual = ['clerk', 'relay', 'deep', 'stamper', 'sleeper', 'left', 'right', 'middle', 'external']
const toAgents = (names: readonly string[]): ReadonlyMap<string, Agent> =>
  new Map(names.map((name) => [name, Agent.parse({ name, allowSubAgentCalls: true })]))

/** How often each law had something to be tried on. */
export type Tried = Map<string, number>

const lawsOf: Readonly<Partial<Record<Event['type'], readonly string[]>>> = {
  'call.opened': ['R5', 'R7', 'R11'],
  'call.ended': ['R3'],
  'turn.started': ['R6', 'R12'],
  'session.claimed': ['R6'],
  'step.started': ['R6'],
  'step.ended': ['R6'],
  'turn.ended': ['R3'],
  'message.sent': ['R9'],
  'message.delivered': ['R9'],
  'message.accepted': ['R9'],
  'wait.started': ['R5'],
}

/** A store's marks begin with its own id. */
const storeOf = (mark: string): string => mark.slice(0, mark.lastIndexOf('-'))

export function findWriters(rows: readonly Row[]): { writers: Map<string, NodeId>; problems: string[] } {
  const writers = new Map<string, NodeId>()
  const problems: string[] = []
  for (const { parsed, mark, seq } of rows)
    for (const event of parsed) {
      if (event.type !== 'turn.started' && event.type !== 'session.claimed') continue
      const store = storeOf(mark)
      const known = writers.get(store)
      if (known === undefined) writers.set(store, event.node)
      else if (known !== event.node)
        problems.push(`R6: row ${seq} gives a turn to ${event.node}, and ${known} wrote it`)
    }
  return { writers, problems }
}

/** `everywhere`: each node may run everything, so that what can run, runs where it is (R12). */
export function replayLaws(
  rows: readonly Row[],
  { agents = usual, everywhere = true }: { agents?: readonly string[]; everywhere?: boolean } = {},
): { problems: string[]; tried: Tried; ledger: Ledger } {
  const tried: Tried = new Map()
  const ledger = new Ledger({ jumpsMs: 0, limitsOffMs: 0 }, toAgents(agents))
  const { writers, problems } = findWriters(rows)
  const all = Limits.parse(limits)
  for (const { at, parsed, mark, seq } of rows) {
    const store = storeOf(mark)
    const writer = writers.get(store) ?? null
    const written: Written = { at, wall: at, writer, events: parsed }
    try {
      for (const event of parsed) {
        for (const law of lawsOf[event.type] ?? []) tried.set(law, (tried.get(law) ?? 0) + 1)
        const broken = checkBefore(ledger, event, written, all)
        if (broken !== null) problems.push(`row ${seq}: ${broken}`)
        ledger.apply(event, at)
      }
      const broken = checkAfter(ledger, written)
      const excused =
        broken !== null &&
        ((!everywhere && broken.startsWith('R12')) ||
          mayStop(rows, store, at, broken) ||
          ranOut(rows, ledger, at, broken))
      if (broken !== null && !excused) problems.push(`row ${seq}: ${broken}`)
    } catch (fault) {
      problems.push(`row ${seq}: ${(fault as Error).message}`)
    }
    if (problems.length > 50) break
  }
  return { problems, tried, ledger }
}

const stopsMs = 20_000

/** A node that stops begins nothing more; one that goes on writing for so long did not stop. */
const mayStop = (rows: readonly Row[], store: string, at: number, broken: string): boolean =>
  broken.startsWith('R12') && !rows.some((row) => storeOf(row.mark) === store && row.at > at + stopsMs)

/** A transaction that is idle for longer is ended by PostgreSQL. */
const decidedMsMax = 1000

/**
 * A transaction has the time at which it began, and real nodes look a little later how much is left: an input
 * whose time ran out in between was rightly not begun.
 */
function ranOut(rows: readonly Row[], ledger: Ledger, at: number, broken: string): boolean {
  const id = /^R12: (turn_\S+) waits/.exec(broken)?.[1]
  const turn = ledger.turns.get(id as TurnId)
  if (turn === undefined || turn.due > at + decidedMsMax) return false
  const events = rows.flatMap(({ parsed }) => parsed)
  return events.some(
    (event) =>
      ((event.type === 'turn.ended' && event.turn === turn.id) ||
        (event.type === 'call.ended' && event.call === turn.call?.id)) &&
      event.outcome === 'timed_out',
  )
}

/** What is left when nothing more can happen. */
export function leftOver(ledger: Ledger): string[] {
  const problems: string[] = []
  for (const turn of ledger.turns.values()) {
    if (turn.pending) problems.push(`R4: ${turn.call?.id ?? turn.id} is pending when everything rests`)
    else if (turn.state !== 'ended') problems.push(`R6: ${turn.id} is ${turn.state} when everything rests`)
  }
  return problems
}
