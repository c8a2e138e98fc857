/** What each event adds to the totals, and what must be known of the events before for that. */
import type { Event, EventOf, EventType } from '../model/event.ts'
import { toTurnId, type Millis, type SessionId, type TurnId } from '../model/id.ts'
import { opensTurn } from '../model/opening.ts'
import { boundedMap } from './bounded-map.ts'
import { namelessCodes } from './metrics.ts'
import { boundedNames } from './prometheus-text.ts'
import type { RunningSums } from './sums.ts'
import { createPlaces, createSpent, type StepsSpent } from './spending.ts'

/** R11 */
const namesMax = 200
const openMax = 20_000

/** Where the tokens of requests without an answer are counted. */
const cutOff = 'cut off'

/** What is known of turns, calls and sessions, and the names that are kept apart. Kept over restarts. */
export type Known = {
  agents: Set<string>
  models: Set<string>
  projects: Set<string>
  agentOfTurn: Map<TurnId, string>
  agentOfCall: Map<string, string>
  projectOf: Map<SessionId, string>
  spent: Map<TurnId, StepsSpent>
  /** Tokens of conversations so far. */
  said: Map<SessionId, number>
}

export const knowNothing = (): Known => ({
  agents: new Set(),
  models: new Set(),
  projects: new Set(),
  agentOfTurn: new Map(),
  agentOfCall: new Map(),
  projectOf: new Map(),
  spent: new Map(),
  said: new Map(),
})

export type TotalsFold = (event: Event, at: Millis, into: RunningSums) => void

type Folds = { [T in EventType]?: (event: EventOf<T>, at: Millis, into: RunningSums) => void }

/** A fork begins with its part of what was said. */
const shareSaid = ({ entries, back }: EventOf<'session.forked'>, said: number): number =>
  Math.round(said * (entries / Math.max(1, entries + back)))

export function createFold(known: Known): TotalsFold {
  const agents = boundedNames(namesMax, known.agents)
  const models = boundedNames(namesMax, known.models)
  const agentOfTurn = boundedMap(openMax, known.agentOfTurn)
  const places = createPlaces(namesMax, openMax, known.projects, known.projectOf)
  const agentOfCall = boundedMap(openMax, known.agentOfCall)
  const spent = createSpent(openMax, known.spent)
  const said = boundedMap(openMax, known.said)
  const folds: Folds = {
    'session.forked': (event) => said.set(event.session, shareSaid(event, said.get(event.from) ?? 0)),
    'call.opened': (event, _at, into) => {
      const agent = agents(event.grant.agent)
      agentOfTurn.set(toTurnId(event.call), agent)
      agentOfCall.set(event.call, agent)
      const history = said.get(event.session) ?? 0
      into.addCall(event.context.tokens, history)
    },
    'call.refused': (event, _at, into) => {
      const agent =
        event.agent === '' || namelessCodes.has(event.refusal.code) ? 'unknown' : agents(event.agent)
      into.refused += 1
      into.addOutcome(agent, 'refused')
    },
    'call.ended': (event, _at, into) => {
      const agent = agentOfCall.take(event.call) ?? 'other'
      into.addOutcome(agent, event.outcome)
      into.addTime(agent, Math.max(0, event.endedAt - event.openedAt))
    },
    'session.created': places.open,
    'step.ended': (event, at, into) => {
      if (event.usage === null) return
      const turn = event.turn ?? 'turn_'
      const agent = agentOfTurn.get(turn) ?? 'other'
      const model = models(event.usage.model ?? event.name)
      spent.add(turn, event.usage)
      into.addTokens({ agent, model, ...places.find(event, at) }, event.usage)
    },
    'turn.ended': (event, at, into) => {
      const turn = event.turn ?? 'turn_'
      const agent = agentOfTurn.take(turn) ?? 'other'
      const usage = spent.takeRest(turn, event)
      if (usage !== null) into.addTokens({ agent, model: models(cutOff), ...places.find(event, at) }, usage)
      if (event.entry !== null)
        said.set(
          event.session,
          (said.get(event.session) ?? 0) + event.entry.askedTokens + event.entry.answeredTokens,
        )
    },
  }
  return (event, at, into) => {
    if (opensTurn(event)) {
      agentOfTurn.set(event.turn, agents(event.grant.agent))
      const isRoot = event.flow.slice(5) === event.turn.slice(5)
      into.turns += 1
      if (isRoot) into.requests += 1
    }
    const fold = folds[event.type] as ((event: Event, at: Millis, into: RunningSums) => void) | undefined
    fold?.(event, at, into)
  }
}
