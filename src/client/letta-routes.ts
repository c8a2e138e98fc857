/** Persistent agents under `/v1`. */
import { eventData } from './event-data.ts'
import { parseJsonAnswer, openStream, type Once, type Request, type RequestSettings } from './request.ts'

/** Agents and answers in Letta's shape, which may have more fields than these. */
export type NewLettaAgent = {
  name: string
  system?: string
  description?: string
  model?: string
  tools?: string[]
}
export type LettaAgent = {
  id: string
  name: string
  system: string
  description: string | null
  model: string | null
  [more: string]: unknown
}
export type LettaMessage = {
  id: string
  date: string
  message_type: string
  content?: unknown
  [more: string]: unknown
}
export type LettaAnswer = {
  messages: LettaMessage[]
  stop_reason: { message_type: string; stop_reason: string } | string
  usage: Record<string, unknown>
}
export type LettaInput = { content: string } | { messages: { role: string; content: string }[] }

export type LettaRoutes = {
  createAgent(agent: NewLettaAgent, once?: Once): Promise<LettaAgent>
  /** One page; `after` is the id of the last agent of the page before. */
  agents(ask?: { after?: string; limit?: number; name?: string }, once?: Once): Promise<LettaAgent[]>
  agent(id: string, once?: Once): Promise<LettaAgent>
  deleteAgent(id: string, once?: Once): Promise<unknown>
  /** Blocks until the turn has ended. */
  send(agent: string, input: LettaInput, once?: Once): Promise<LettaAnswer>
  messages(
    agent: string,
    ask?: { limit?: number; after?: string; before?: string },
    once?: Once,
  ): Promise<LettaMessage[]>
  /** The same turn, each part as it arrives. */
  stream(agent: string, input: LettaInput, once?: Once): AsyncGenerator<LettaMessage>
}

export function lettaRoutes(request: Request, settings: RequestSettings): LettaRoutes {
  const agentPath = (id: string): string => `/v1/agents/${encodeURIComponent(id)}`
  return {
    createAgent: (agent, once) => request('POST', '/v1/agents', { body: agent, ...once }),
    agents: (ask, once) => request('GET', '/v1/agents', { query: { ...ask }, ...once }),
    agent: (id, once) => request('GET', agentPath(id), once),
    deleteAgent: (id, once) => request('DELETE', agentPath(id), once),
    send: (agent, input, once) => request('POST', `${agentPath(agent)}/messages`, { body: input, ...once }),
    messages: (agent, ask, once) =>
      request('GET', `${agentPath(agent)}/messages`, { query: { ...ask }, ...once }),
    async *stream(agent, input, once) {
      const body = await openStream(settings, `${agentPath(agent)}/messages/stream`, { body: input, ...once })
      for await (const data of eventData(body)) {
        if (data === '[DONE]') return
        yield parseJsonAnswer(data) as LettaMessage
      }
    },
  }
}
