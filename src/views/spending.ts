/** Where tokens and money were spent, and what of it stands in no step. */
import type { Event, EventOf, Usage } from '../model/event.ts'
import type { Millis, SessionId, TurnId } from '../model/id.ts'
import { boundedMap } from './bounded-map.ts'
import { boundedNames } from './prometheus-text.ts'

const dayMs = 86_400_000

/** The directory of a session, and the day in UTC. */
export function createPlaces(
  namesMax: number,
  openMax: number,
  names: Set<string>,
  known: Map<SessionId, string>,
) {
  const projects = boundedNames(namesMax, names)
  const projectOf = boundedMap(openMax, known)
  let [day, dayFrom] = ['', Number.NaN]
  return {
    open: ({ session, cwd }: EventOf<'session.created'>): void => projectOf.set(session, projects(cwd)),
    find({ session }: Event, at: Millis) {
      if (!(at >= dayFrom && at < dayFrom + dayMs)) {
        dayFrom = Math.floor(at / dayMs) * dayMs
        // oxlint-disable-next-line no-restricted-globals -- a time that is in the log
        day = new Date(at).toISOString().slice(0, 10)
      }
      return { project: projectOf.get(session) ?? 'other', day }
    },
  }
}

/** What the steps of a turn have used so far. */
export type StepsSpent = { tokens: number; nanoUsd: number }

/** A request that was cut off is no step, but it was paid for: what a turn says at its end, without its steps. */
export function createSpent(openMax: number, known: Map<TurnId, StepsSpent>) {
  const spent = boundedMap(openMax, known)
  return {
    add(turn: TurnId, { input, output, cost }: Usage): void {
      const before = spent.get(turn) ?? { tokens: 0, nanoUsd: 0 }
      spent.set(turn, {
        tokens: before.tokens + input + output,
        nanoUsd: before.nanoUsd + (cost?.nanoUsd ?? 0),
      })
    },
    takeRest(turn: TurnId, ended: EventOf<'turn.ended'>): Usage | null {
      const { tokens, nanoUsd } = spent.take(turn) ?? { tokens: 0, nanoUsd: 0 }
      const input = ended.tokensUsed - tokens
      if (input <= 0) return null
      const rest = (ended.spent?.nanoUsd ?? 0) - nanoUsd
      const cost = rest > 0 ? { cost: { nanoUsd: rest, by: 'table' as const } } : {}
      return { input, output: 0, estimated: true, ...cost }
    },
  }
}
