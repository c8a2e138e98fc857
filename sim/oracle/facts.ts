/** What the oracle knows besides the checker's ledger, from the log and from nothing of `src`: who is there. */
import type { Event, EventOf } from '../../src/model/event.ts'
import type { SessionId, TurnId } from '../../src/model/id.ts'
import { mayCallByName, agents } from '../agents.ts'

export type KnownAgent = {
  tools: readonly string[]
  calls: boolean
  mayCall: readonly string[] | null
  depthMax: number
  prompt: string
}

const stripPrefix = (message: string): string => message.replace(/^msg_/, '')

export class Facts {
  readonly deleted = new Set<SessionId>()
  readonly sessions = new Set<SessionId>()
  readonly parents = new Map<SessionId, SessionId | null>()
  /** Below whom each was made, whoever adopted it since. */
  readonly madeBelow = new Map<SessionId, SessionId | null>()
  readonly questions = new Map<string, { turn: TurnId | null; isAnswered: boolean }>()
  /** Whose each is or was. */
  readonly drafts = new Map<string, SessionId>()
  /** Null where it is for a session that is not there yet. */
  readonly draftTargets = new Map<string, SessionId | null>()
  /** The turn that a message opened. */
  readonly openedBy = new Map<string, TurnId>()
  /** Messages that were declined, sent or not. */
  readonly declined = new Set<string>()
  readonly #agents = new Map<string, KnownAgent>()
  /** Agents that were ever made. */
  readonly hired = new Set<string>()
  madeCount = 0

  constructor() {
    for (const [name, { tools, allowSubAgentCalls, maxDepth, prompt }] of agents)
      this.#agents.set(name, {
        tools,
        calls: allowSubAgentCalls,
        mayCall: mayCallByName(name),
        depthMax: maxDepth,
        prompt,
      })
  }

  agent = (name: string): KnownAgent | undefined => this.#agents.get(name)

  apply(event: Event): void {
    if (event.type === 'session.created') {
      this.sessions.add(event.session)
      this.parents.set(event.session, event.parent)
      this.madeBelow.set(event.session, event.parent)
    }
    if (event.type === 'session.archived' && event.cause === 'deleted') this.deleted.add(event.session)
    if (event.type === 'session.adopted') {
      this.parents.set(event.session, event.parent)
      if (event.revives === true) this.deleted.delete(event.session)
    }
    if (event.type === 'agent.created') this.#hire(event)
    if (event.type === 'agent.deleted' && this.#agents.delete(event.agent)) this.madeCount -= 1
    if (event.type === 'question.asked')
      this.questions.set(event.question, { turn: event.turn, isAnswered: false })
    const question = event.type === 'question.answered' ? this.questions.get(event.question) : undefined
    if (question !== undefined) question.isAnswered = true
    if (event.type === 'message.drafted') this.drafts.set(stripPrefix(event.message), event.session)
    if (event.type === 'message.drafted' || event.type === 'message.revised')
      this.draftTargets.set(
        stripPrefix(event.message),
        event.target.kind === 'session' ? event.target.session : null,
      )
    if ((event.type === 'message.sent' || event.type === 'message.delivered') && event.turn !== null)
      this.openedBy.set(stripPrefix(event.message), event.turn)
    if (event.type === 'message.declined') this.declined.add(stripPrefix(event.message))
  }

  #hire({ agent, definition: { tools, prompt } }: EventOf<'agent.created'>): void {
    this.madeCount += 1
    this.hired.add(agent)
    this.#agents.set(agent, { tools, calls: true, mayCall: null, depthMax: 5, prompt })
  }
}
