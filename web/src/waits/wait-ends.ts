import type { WaitEdge } from '../../../src/wire/log.ts'
import { formatDuration } from '../format.ts'
import { nameAgent, getStatus, type Ledger } from '../live/ledger.ts'

export type End = {
  session: string
  agent: string
  waiters: string[]
  why: 'asks' | 'works' | 'rests'
  words: string
}

/** The sessions that others wait for and that wait for nobody: where something has to happen next. */
export function findEnds(edges: readonly WaitEdge[], ledger: Ledger, now: number): End[] {
  const waiters = new Set<string>(edges.map(({ waiter }) => waiter))
  const ends = new Map<string, string>()
  for (const { target, targetAgent } of edges) if (!waiters.has(target)) ends.set(target, targetAgent)
  return [...ends].map(([session, agent]) => ({
    session,
    agent: nameAgent(ledger, agent),
    waiters: [...findWaiters(session, edges)],
    ...describeEnd(session, ledger, now),
  }))
}

function findWaiters(session: string, edges: readonly WaitEdge[]): Set<string> {
  const found = new Set<string>()
  const add = (target: string): void => {
    for (const edge of edges) {
      if (edge.target !== target || found.has(edge.waiter)) continue
      found.add(edge.waiter)
      add(edge.waiter)
    }
  }
  add(session)
  return found
}

function describeEnd(session: string, ledger: Ledger, now: number): { why: End['why']; words: string } {
  const question = [...ledger.questions.values()].find((one) => one.session === session)
  if (question !== undefined)
    return {
      why: 'asks',
      words: `asks a person whether it may use ${question.tool}, since ${formatDuration(now - question.askedAt)}`,
    }
  const fact = ledger.sessions.get(session)
  const turn =
    fact === undefined
      ? undefined
      : [...fact.liveTurns].map((id) => ledger.turns.get(id)).find((one) => one?.startedAt != null)
  if (turn?.startedAt != null) {
    const left = turn.deadline === null ? null : formatDuration(Math.max(0, turn.deadline - now))
    const latest = left === null ? '' : `, until ${left} from now at the latest`
    return { why: 'works', words: `has worked for ${formatDuration(now - turn.startedAt)}${latest}` }
  }
  return {
    why: 'rests',
    words:
      fact !== undefined && getStatus(fact) === 'streaming'
        ? 'is about to begin'
        : 'does nothing; its answer is on the way, or the deadline ends the wait',
  }
}
