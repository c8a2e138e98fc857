/**
 * The one face of the runtime. `runtime.as(asker)` gives a desk with eight nouns; each method takes a typed request
 * and answers with a typed value or a Refusal. What is acknowledged is durable (R2). Doors translate to and from
 * this, and reach nothing else.
 */
import type { TurnId } from '../../model/id.ts'
import type { Refusal } from '../../model/refusal.ts'
import { parseTraceparent } from '../../model/trace.ts'
import { createFeed, type Feed } from '../look/feed.ts'
import type { StoreHealth } from '../kernel/store-health.ts'
import { findRunning } from '../kernel/runtime.ts'
import { agentDesk, type AgentDesk } from './agents.ts'
import { onlyUser, type Asker } from './asker.ts'
import { callDesk, type CallDesk } from './calls.ts'
import { openGate, type Gate } from './gate.ts'
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

/** A class, because every request has one: getters that an object defines for itself cost microseconds. */
class AskersDesk implements Desk {
  readonly #parts: DeskParts
  readonly #feed: Feed
  readonly #asker: Asker

  constructor(parts: DeskParts, feed: Feed, asker: Asker) {
    this.#parts = parts
    this.#feed = feed
    this.#asker = asker
  }

  // Most requests need one noun.
  get calls(): CallDesk {
    return callDesk(this.#parts, this.#asker, this.#gate())
  }
  get sessions(): SessionDesk {
    return sessionDesk(this.#parts, this.#asker, this.#gate())
  }
  get mail(): MailDesk {
    return mailDesk(this.#parts, this.#asker, this.#gate())
  }
  get questions(): QuestionDesk {
    return questionDesk(this.#parts, this.#asker)
  }
  get agents(): AgentDesk {
    return agentDesk(this.#parts, this.#asker)
  }
  get tools(): ToolDesk {
    return toolDesk(this.#parts, this.#asker, this.#gate())
  }
  get log(): LogDesk {
    return logDesk(this.#parts, this.#feed, this.#asker, this.#gate())
  }
  get programs(): ProgramDesk {
    return programDesk(this.#parts, this.#asker, this.#gate())
  }

  onlyUser(what: string): Refusal | null {
    return onlyUser(this.#asker.who, what)
  }

  #gate(): Gate {
    return openGate(this.#parts, this.#asker)
  }
}

export function openDesks(parts: DeskParts): Desks {
  const feed = createFeed(parts.runtime)
  return {
    as: (given) =>
      new AskersDesk(parts, feed, {
        who: { kind: 'user' },
        act: null,
        signal: never,
        open: true,
        client: null,
        ...given,
        // What is not a trace is no reason to refuse the request.
        trace: parseTraceparent(given.trace) === null ? null : (given.trace ?? null),
      }),
    health: () => parts.runtime.store.health(),
    runs(turn) {
      const running = findRunning(parts.runtime, turn)
      if (running !== undefined) running.reached = true
      return running !== undefined
    },
    stop: () => feed.stop(),
  }
}
