/** Who asks something of the runtime, and how. */
import type { ClientProgram } from '../../model/client-address.ts'
import { isRefusal, type Refusal } from '../../model/refusal.ts'
import type { Who } from '../kernel/who.ts'
import type { ToolUse } from '../sessions/client-turn.ts'

export type { Who }

/** One request. */
export type Asker = {
  who: Who
  /** The id of this act: a retry with the same id has one effect. */
  act: string | null
  /** Aborts when the asker has gone: what it asked for is cancelled. */
  signal: AbortSignal
  /** The W3C `traceparent` that came with the request. */
  trace: string | null
  /** Nobody has a token here, so a session is believed by its name, if somebody can be behind that name. */
  open: boolean
  /** The program that asks for the user, as it describes itself. */
  client: ClientProgram | null
}

export const toUse = ({ signal, act, trace }: Asker): ToolUse => ({ signal, id: act, trace })

/** One text for each identity, for what is counted or hashed by it. */
export const nameWho = (who: Who): string =>
  who.kind === 'user' ? 'user' : who.kind === 'session' ? `session:${who.session}` : `turn:${who.turn}`

export const refuseAsker = (who: Who, what: string): Refusal =>
  who.kind === 'turn'
    ? {
        code: 'not_allowed',
        agent: 'The token of a turn',
        what,
        allowed: ['the tools of its turn, at /mcp or POST /api/calls'],
      }
    : {
        code: 'not_allowed',
        agent: 'The token of a session',
        what,
        allowed: ['its own session', 'the sessions below it'],
      }

/** For what belongs to the user alone. */
export const onlyUser = (who: Who, what: string): Refusal | null =>
  who.kind === 'user' ? null : refuseAsker(who, what)

/** Goes on with what was found, or answers with the refusal. */
export async function andThen<T extends object, R>(
  found: Promise<T | Refusal>,
  next: (found: T) => R | Refusal | Promise<R | Refusal>,
): Promise<R | Refusal> {
  const value = await found
  return isRefusal(value) ? value : next(value as T)
}
