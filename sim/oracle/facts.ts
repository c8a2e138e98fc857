/** What the oracle knows besides the checker's ledger, from the log and from nothing of `src`: who is there. */
import type { Event, EventOf } from '../../src/model/event.ts'
import type { SessionId } from '../../src/model/id.ts'
import { mayCallByName, agents } from '../agents.ts'

export type KnownAgent = {
  tools: readonly string[]
  calls: boolean
  mayCall: readonly string[] | null
  depthMax: number
  prompt: string
}

export class Facts {
  readonly deleted = new Set<SessionId>()
  readonly sessions = new Set<SessionId>()
  readonly parents = new Map<SessionId, SessionId | null>()
  readonly questions = new Map<string, 'asked' | 'answered'>()
  readonly drafts = new Map<string, SessionId>()
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
    }
    if (event.type === 'session.archived' && event.cause === 'deleted') this.deleted.add(event.session)
    if (event.type === 'session.adopted') {
      this.parents.set(event.session, event.parent)
      if (event.revives === true) this.deleted.delete(event.session)
    }
    if (event.type === 'agent.created') this.#hire(event)
    if (event.type === 'agent.deleted' && this.#agents.delete(event.agent)) this.madeCount -= 1
    if (event.type === 'question.asked') this.questions.set(event.question, 'asked')
    if (event.type === 'question.answered') this.questions.set(event.question, 'answered')
    if (event.type === 'message.drafted') this.drafts.set(event.message.replace(/^msg_/, ''), event.session)
  }

  #hire({ agent, definition: { tools, prompt } }: EventOf<'agent.created'>): void {
    this.madeCount += 1
    this.hired.add(agent)
    this.#agents.set(agent, { tools, calls: true, mayCall: null, depthMax: 5, prompt })
  }
}
