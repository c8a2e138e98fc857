/** What the oracle knows besides the checker's ledger, from the log and from nothing of `src`: who is there. */
import type { Event } from '../../src/model/event.ts'
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
    switch (event.type) {
      case 'session.created':
        this.sessions.add(event.session)
        this.parents.set(event.session, event.parent)
        return
      case 'session.archived':
        if (event.cause === 'deleted') this.deleted.add(event.session)
        return
      case 'session.adopted':
        this.parents.set(event.session, event.parent)
        if (event.revives === true) this.deleted.delete(event.session)
        return
      case 'agent.created':
        this.madeCount += 1
        this.#agents.set(event.agent, {
          tools: event.definition.tools,
          calls: true,
          mayCall: null,
          depthMax: 5,
          prompt: event.definition.prompt,
        })
        return
      case 'agent.deleted':
        this.madeCount -= 1
        this.#agents.delete(event.agent)
        return
      case 'question.asked':
        this.questions.set(event.question, 'asked')
        return
      case 'question.answered':
        this.questions.set(event.question, 'answered')
        return
      case 'message.drafted':
        this.drafts.set(event.message.replace(/^msg_/, ''), event.session)
        return
      default:
        return
    }
  }
}
