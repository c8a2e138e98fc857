/** Rows and events of sessions that are made. */
import type { Agent } from '../../model/agent.ts'
import type { EventOf } from '../../model/event.ts'
import type { SessionRow } from '../../model/facts.ts'
import type { FlowId, Millis, SessionId, TurnId } from '../../model/id.ts'

export type NewSession = {
  /** As its directory's project calls it. */
  agent: string
  /** As the one who makes it calls it, where that is another project. */
  calledAs?: string
  cwd: string
  title?: string
  model?: string | null
  parent?: SessionId | null
}

export const newSession = (
  { agent, cwd, title = '', model = null, parent = null }: NewSession,
  id: SessionId,
  createdAt: Millis,
  kind: SessionRow['kind'] = 'persistent',
): SessionRow => ({
  id,
  agent,
  kind,
  parent,
  cwd,
  title,
  model,
  createdAt,
  archived: false,
  entries: 0,
  summary: null,
  summaryEntries: 0,
})

/** `turn` for a session that a call makes, `flow` for one that a turn's message makes. */
export const createdEvent = (
  { id, agent, kind, parent, cwd, title, model }: SessionRow,
  { turn = null, flow = null }: { turn?: TurnId | null; flow?: FlowId | null } = {},
): EventOf<'session.created'> => ({
  type: 'session.created',
  session: id,
  turn,
  agent,
  kind,
  parent,
  cwd,
  title,
  model,
  flow,
})

/** What a session's turns run on: its agent, with the session's own model where it has one. */
export const withSessionModel = (agent: Agent, session: SessionRow): Agent =>
  session.model === null ? agent : { ...agent, model: session.model }

/** Leave to call it is leave for the name that its caller knows. */
export const asCalled = (agent: Agent, name: string | undefined): Agent =>
  name === undefined || name === agent.name ? agent : { ...agent, title: name }
