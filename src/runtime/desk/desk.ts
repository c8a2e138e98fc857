/**
 * The one face of the runtime. `runtime.as(asker)` gives a desk with eight nouns; each method takes a typed request
 * and answers with a typed value or a Refusal. What is acknowledged is durable (R2). Doors translate to and from
 * this, and reach nothing else.
 */
import type { TurnId } from '../../model/id.ts'
import type { Refusal } from '../../model/refusal.ts'
import { parseTraceparent } from '../../model/trace.ts'
import { createFeed } from '../look/feed.ts'
import type { StoreHealth } from '../kernel/store-health.ts'
import { findRunning } from '../kernel/runtime.ts'
import { agentDesk, type AgentDesk } from './agents.ts'
import { onlyUser, type Asker } from './asker.ts'
import { callDesk, type CallDesk } from './calls.ts'
import { openGate } from './gate.ts'
import { logDesk, type LogDesk } from './log.ts'
import { mailDesk, type MailDesk } from './mail.ts'
import type { DeskParts } from './parts.ts'
import { programDesk, type ProgramDesk } from './programs.ts'
import { questionDesk, type QuestionDesk } from './questions.ts'
import { sessionDesk, type SessionDesk } from './sessions.ts'
import { toolDesk, type ToolDesk } from './tools.ts'

export type Desk = {
  readonly calls: CallDesk
  readonly sessions: SessionDesk
  readonly mail: MailDesk
  readonly questions: QuestionDesk
  readonly agents: AgentDesk
  readonly tools: ToolDesk
  readonly log: LogDesk
  readonly programs: ProgramDesk
  /** For what is kept outside of the runtime and belongs to the user alone. */
  onlyUser(what: string): Refusal | null
}

export type Desks = {
  /** Whatever is left out is nothing: the user, once, without a trace, for as long as it takes. */
  as(asker: Partial<Asker>): Desk
  /** Whether anything can be recorded: everybody may know. */
  health(): StoreHealth
  /** Whether this turn runs here: its token is good for as long. A program that brought it has reached us. */
  runs(turn: TurnId): boolean
  stop(): void
}

const never = new AbortController().signal

export function openDesks(parts: DeskParts): Desks {
  const feed = createFeed(parts.runtime)
  return {
    as(given) {
      const asker: Asker = {
        who: { kind: 'user' },
        act: null,
        signal: never,
        open: true,
        client: null,
        ...given,
        // What is not a trace is no reason to refuse the request.
        trace: parseTraceparent(given.trace) === null ? null : (given.trace ?? null),
      }
      const gate = openGate(parts, asker)
      // Most requests need one noun.
      return {
        get calls() {
          return callDesk(parts, asker, gate)
        },
        get sessions() {
          return sessionDesk(parts, asker, gate)
        },
        get mail() {
          return mailDesk(parts, asker, gate)
        },
        get questions() {
          return questionDesk(parts, asker)
        },
        get agents() {
          return agentDesk(parts, asker)
        },
        get tools() {
          return toolDesk(parts, asker, gate)
        },
        get log() {
          return logDesk(parts, feed, asker, gate)
        },
        get programs() {
          return programDesk(parts, asker, gate)
        },
        onlyUser: (what) => onlyUser(asker.who, what),
      }
    },
    health: () => parts.runtime.store.health(),
    runs(turn) {
      const running = findRunning(parts.runtime, turn)
      if (running !== undefined) running.reached = true
      return running !== undefined
    },
    stop: () => feed.stop(),
  }
}
