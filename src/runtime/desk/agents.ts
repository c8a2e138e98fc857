/** Agents, as anybody may ask for them. */
import type { Agent } from '../../model/agent.ts'
import type { SessionId } from '../../model/id.ts'
import { agentDescriptionMax, agentPromptBytesMax, agentTitleMax, agentToolsMax } from '../../model/limits.ts'
import { badInput, isRefusal, type Refusal } from '../../model/refusal.ts'
import type { Agents } from '../kernel/ports.ts'
import { findMain, inProject, resolveAgent } from '../kernel/projects-port.ts'
import { refuseAgent } from '../kernel/refuse-agent.ts'
import { describeAgent } from '../look/callable-agents.ts'
import { byteLength } from '../../model/text.ts'
import type { AgentView } from '../../wire/agents.ts'
import type { Delta } from '../../wire/log.ts'
import type { Projects } from '../../wire/projects.ts'
import {
  createAgent,
  hostAgent,
  mainSession,
  showAgent,
  type AgentBook,
  type CreateAgentAsk,
} from '../sessions/agent-book.ts'
import { askTurn, type AskAnswer } from '../sessions/ask-turn.ts'
import { archiveSession, createSession } from '../sessions/sessions.ts'
import { onlyUser, type Asker } from './asker.ts'
import { findDirectory, type DeskParts } from './parts.ts'

export type AgentDesk = {
  /** Those that can be called from where the asker works. */
  list(): Promise<{ agents: AgentView[] }>
  /** All projects of the server, used or not: for a person. */
  projects(): Promise<Projects | Refusal>
  /** By id, then by the name of an agent made by API, then by a configured name. */
  get(idOrName: string): Promise<AgentView | Refusal>
  create(agent: Omit<CreateAgentAsk, 'id'>): Promise<AgentView | Refusal>
  /** The agent of a connected program, made at its first hello. */
  connect(ask: { name: string; description: string; tools: readonly string[] }): Promise<AgentView | Refusal>
  delete(id: string): Promise<AgentView | Refusal>
  /** Its main session, made at first use. */
  session(idOrName: string): Promise<{ session: SessionId } | Refusal>
  /** Sends to a session as the user and waits for the end of the turn; an asker that has gone cancels it. */
  ask(session: SessionId, text: string, onDelta?: (delta: Delta) => void): Promise<AskAnswer | Refusal>
}

const asUser = 'act as the user'

export function agentDesk(parts: DeskParts, asker: Asker): AgentDesk {
  const { runtime, book, cwd } = parts
  const { who, act, signal, trace } = asker
  const around = async (): Promise<Agents> => inProject(runtime, await findDirectory(parts, asker)).agents
  return {
    async list() {
      const here = await around()
      const agents = here
        .names()
        .flatMap((name) => here.get(name) ?? [])
        .map((agent) => show(book, here, agent))
      // An agent may know whom it can call, not how they were told to behave.
      return { agents: who.kind === 'user' ? agents : agents.map((agent) => ({ ...agent, system: '' })) }
    },
    projects: async () => onlyUser(who, 'list the projects') ?? { projects: runtime.projects?.list() ?? [] },
    async get(idOrName) {
      const here = await around()
      const agent = resolveAgent(here, idOrName)
      return (
        onlyUser(who, asUser) ?? (agent === undefined ? refuseAgent(here, idOrName) : show(book, here, agent))
      )
    },
    create: async (agent) =>
      onlyUser(who, asUser) ??
      sizeProblem(agent) ??
      agentProblem(parts, agent) ??
      createAgent(runtime, book, { ...agent, id: act }, cwd),
    connect: async (ask) => onlyUser(who, asUser) ?? hostAgent(runtime, book, await around(), ask, cwd),
    delete: async (id) => onlyUser(who, asUser) ?? deleteAgent(parts, id),
    session: async (idOrName) => onlyUser(who, asUser) ?? findMainSession(parts, await around(), idOrName),
    ask: async (session, text, onDelta) =>
      onlyUser(who, asUser) ??
      askTurn(runtime, session, text, {
        signal,
        id: act,
        trace,
        ...(onDelta === undefined ? {} : { onDelta }),
      }),
  }
}

/** R11: it is kept in memory, and shown to every agent that may call it. */
function sizeProblem({
  name,
  description,
  system,
  model,
  tools,
}: Omit<CreateAgentAsk, 'id'>): Refusal | null {
  if (name.length > agentTitleMax) return badInput('name', name, `at most ${agentTitleMax} characters`)
  if (description.length > agentDescriptionMax)
    return badInput('description', description, `at most ${agentDescriptionMax} characters`)
  if ((model ?? '').length > agentTitleMax)
    return badInput('model', model, `at most ${agentTitleMax} characters`)
  if ((tools ?? []).length > agentToolsMax)
    return badInput('tools', `${tools?.length} tools`, `at most ${agentToolsMax}`)
  const bytes = byteLength(system)
  return bytes > agentPromptBytesMax
    ? { code: 'too_large', field: 'system', bytes, bytesMax: agentPromptBytesMax }
    : null
}

function show(book: AgentBook, here: Agents, agent: Agent): AgentView {
  const made = book.made(agent.name)
  return {
    ...showAgent(agent, made === undefined ? 'configured' : 'api', made?.at ?? null),
    ...describeAgent(here, agent),
  }
}

/** A tool or a provider that nobody has would never be there. With no provider at all the offline demo answers. */
function agentProblem(
  { toolNames, providers, builtIn }: DeskParts,
  { tools, model }: Omit<CreateAgentAsk, 'id'>,
): Refusal | null {
  const wrong = (tools ?? []).findIndex((tool) => !tool.endsWith('*') && !toolNames.includes(tool))
  if (wrong >= 0) return badInput(`tools.${wrong}`, tools?.[wrong], `one of ${toolNames.join(', ')}`)
  if (model === null || builtIn.includes(model) || providers.length === 0) return null
  return model.includes('/') && providers.includes(model.split('/')[0] ?? '')
    ? null
    : badInput('model', model, `"provider/model" with one of the providers ${providers.join(', ')}`)
}

async function deleteAgent({ runtime, book }: DeskParts, id: string): Promise<AgentView | Refusal> {
  const made = book.made(id)
  if (made === undefined)
    return book.get(id) === undefined
      ? refuseAgent(book, id)
      : badInput('id', id, 'the id of an agent that was made by API; this one stands in the configuration')
  const session = mainSession(id)
  await archiveSession(runtime, session)
  await runtime.store.transact([`session:${session}`], async (tx) =>
    tx.append({ type: 'agent.deleted', session, turn: null, agent: id }),
  )
  return showAgent(made.agent, 'api', made.at)
}

async function findMainSession(
  { runtime, cwd }: DeskParts,
  here: Agents,
  idOrName: string,
): Promise<{ session: SessionId } | Refusal> {
  const agent = resolveAgent(here, idOrName)
  if (agent === undefined) return refuseAgent(here, idOrName)
  const { session, ...main } = findMain(here, agent.name, cwd)
  if ((await runtime.store.session(session)) !== null) return { session }
  const made = await createSession(
    runtime,
    { ...main, title: agent.title ?? main.agent },
    { kind: 'user' },
    session.slice(4),
  )
  return isRefusal(made) ? made : { session: made.id }
}
