import type { WaitEdge } from '../../../src/wire/log.ts'
import { duration } from '../amounts.ts'
import { called, statusOf, type Ledger } from '../live/ledger.ts'

export type End = {
  session: string
  agent: string
  waiters: string[]
  why: 'asks' | 'works' | 'rests'
  words: string
}

/** Whoever is waited for and waits for nobody: the places where something has to happen. */
export function endsOf(edges: readonly WaitEdge[], ledger: Ledger, now: number): End[] {
  const waiters = new Set<string>(edges.map(({ waiter }) => waiter))
  const ends = new Map<string, string>()
  for (const { target, targetAgent } of edges) if (!waiters.has(target)) ends.set(target, targetAgent)
  return [...ends].map(([session, agent]) => ({
    session,
    agent: called(ledger, agent),
    waiters: [...waitersOf(session, edges)],
    ...whyOf(session, ledger, now),
  }))
}

function waitersOf(session: string, edges: readonly WaitEdge[]): Set<string> {
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

function whyOf(session: string, ledger: Ledger, now: number): { why: End['why']; words: string } {
  const question = [...ledger.questions.values()].find((one) => one.session === session)
  if (question !== undefined)
    return {
      why: 'asks',
      words: `asks a person whether it may use ${question.tool}, since ${duration(now - question.askedAt)}`,
    }
  const fact = ledger.sessions.get(session)
  const turn =
    fact === undefined
      ? undefined
      : [...fact.liveTurns].map((id) => ledger.turns.get(id)).find((one) => one?.startedAt != null)
  if (turn?.startedAt != null)
    return {
      why: 'works',
      words: `has worked for ${duration(now - turn.startedAt)}${turn.deadline === null ? '' : `, until ${duration(Math.max(0, turn.deadline - now))} from now at the latest`}`,
    }
  return {
    why: 'rests',
    words:
      fact !== undefined && statusOf(fact) === 'streaming'
        ? 'is about to begin'
        : 'does nothing; its answer is on the way, or the deadline ends the wait',
  }
}
