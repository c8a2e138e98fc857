/**
 * The agents that can be called: those of the configuration, and those that doors made, which stand in the
 * log.
 */
import { canonical } from '../../model/json.ts'
import { isSameButMarks } from '../../model/secret-mark.ts'
import { isDriven, type Agent } from '../../model/agent.ts'
import type { EventOf } from '../../model/event.ts'
import type { AgentDefinition } from '../../model/event-parts.ts'
import type { Millis, SessionId } from '../../model/id.ts'
import { type Refusal, agentUnknown, badInput } from '../../model/refusal.ts'
import type { Runtime } from './runtime.ts'
import type { Lists } from '../kernel/lists-port.ts'
import type { Hint } from '../kernel/store-port.ts'
import type { Agents, Driver } from '../kernel/ports.ts'
import { newSession, createdEvent } from '../kernel/new-session.ts'
import type { AgentView } from '../../wire/agents.ts'

export type CreateAgentAsk = {
  name: string
  system: string
  description: string
  model: string | null
  tools: string[] | null
  id: string | null
}

type Made = { agent: Agent; at: Millis }

/** `define` makes an agent of what a door was given; `driver` runs it. */
export type AgentMaker = {
  define(id: string, definition: AgentDefinition): Agent
  driver(agent: Agent): Driver
  isThere(agent: Agent, session: SessionId): boolean
}

export type AgentBook = Agents & {
  /** Reads them from the log. */
  load(lists: Lists): Promise<void>
  /** A hint that does not say what was appended makes it read again what it has loaded. */
  apply(hint: Hint): void
  made(id: string): Made | undefined
  all(): Made[]
}

export function agentBook(
  configured: Agents,
  maker: AgentMaker,
  report: (fault: unknown) => void = () => undefined,
): AgentBook {
  const made = new Map<string, Made>()
  let below = configured.names()
  let names = below
  const renew = (): void => {
    below = configured.names()
    names = [...below, ...made.keys()]
  }
  const add = (event: EventOf<'agent.created'>, at: Millis): void => {
    try {
      made.set(event.agent, { agent: maker.define(event.agent, event.definition), at })
      renew()
    } catch (fault) {
      // One that cannot be read must not keep the others, or the whole server, from starting.
      report(fault)
    }
  }
  let loaded: Lists | null = null
  const load = async (lists: Lists): Promise<void> => {
    loaded = lists
    for (const { created, at, deleted } of (await lists.agentRows()).toSorted((a, b) => a.at - b.at)) {
      if (!deleted) add(created, at)
      else if (made.delete(created.agent)) renew()
    }
  }
  return {
    get: (name) => made.get(name)?.agent ?? configured.get(name),
    names: () => {
      if (configured.names() !== below) renew()
      return names
    },
    untrusted: () => configured.untrusted?.() ?? [],
    driver: (agent) => (made.has(agent.name) ? maker.driver(agent) : configured.driver(agent)),
    isThere: (agent, session) => maker.isThere(agent, session),
    whyUnavailable: (agent) => configured.whyUnavailable?.(agent) ?? null,
    isMetered: (agent) => configured.isMetered?.(agent) ?? true,
    limitOf: (agent) => configured.limitOf?.(agent) ?? null,
    windowsOf: (agent) => configured.windowsOf?.(agent) ?? [],
    whyUnrestricted: (agent) => configured.whyUnrestricted?.(agent) ?? null,
    resolve(idOrName) {
      const byId = made.get(idOrName)?.agent
      // The newest of that name: whoever made it again meant the new one.
      return (
        byId ??
        [...made.values()].findLast(({ agent }) => agent.title === idOrName)?.agent ??
        configured.get(idOrName)
      )
    },
    load,
    apply(hint) {
      if (hint.kind !== 'appended') return
      // Of a commit that reported a fault and was kept, or of another process.
      if (hint.events === undefined && loaded !== null) load(loaded).catch(report)
      for (const event of hint.events ?? []) {
        if (event.type === 'agent.created') add(event, hint.at ?? 0)
        if (event.type === 'agent.deleted' && made.delete(event.agent)) renew()
      }
    },
    made: (id) => made.get(id),
    all: () => [...made.values()],
  }
}

export const mainSession = (agent: string): SessionId => `ses_main-${agent}`

/**
 * Agents of each book that are being made: they count as if they were there, so that many at once cannot pass
 * one check.
 */
const beingMade = new WeakMap<AgentBook, number>()
/** Those of which nobody knows whether they were made: the store answered with a fault. */
const unsure = new WeakMap<AgentBook, Set<string>>()

/** Reads what became of them, as soon as the store takes something again. */
async function lookForUnsure(runtime: Runtime, book: AgentBook): Promise<void> {
  const ids = [...(unsure.get(book) ?? [])]
  await runtime.store.transact([], async () => undefined)
  await book.load(runtime.lists)
  for (const id of ids) unsure.get(book)?.delete(id)
}

/**
 * R11. All agents are in the memory of the one process that has the log, so counting there is as good as in
 * the transaction.
 */
async function making(
  runtime: Runtime,
  book: AgentBook,
  id: string,
  make: () => Promise<Refusal | null>,
): Promise<Refusal | null> {
  // Another one may have become unsure meanwhile.
  while ((unsure.get(book)?.size ?? 0) > 0) await lookForUnsure(runtime, book)
  const pending = beingMade.get(book) ?? 0
  const made = book.all().length + pending
  const madeMax = runtime.limits.agentsMadeMax
  // One that is there already is not another one: a retry finds it.
  if (book.made(id) === undefined && made >= madeMax) return { code: 'too_many_agents', made, madeMax }
  beingMade.set(book, pending + 1)
  try {
    return await make()
  } catch (fault) {
    unsure.set(book, (unsure.get(book) ?? new Set()).add(id))
    throw fault
  } finally {
    beingMade.set(book, (beingMade.get(book) ?? 1) - 1)
  }
}

/** The agent and its main session, at once. The same id again gives what is there. */
export async function createAgent(
  runtime: Runtime,
  book: AgentBook,
  ask: CreateAgentAsk,
  cwd: string,
): Promise<AgentView | Refusal> {
  if (ask.name.trim() === '') return badInput('name', ask.name, 'a name')
  const id = `agent_${ask.id ?? runtime.ids.next()}`
  const session = mainSession(id)
  const definition: AgentDefinition = {
    title: ask.name,
    description: ask.description,
    prompt: ask.system,
    model: ask.model,
    tools: ask.tools ?? ['call_agent'],
    driver: null,
  }
  const refusal = await making(runtime, book, id, () =>
    runtime.store.transact([`session:${session}`], async (tx): Promise<Refusal | null> => {
      if (ask.id !== null && (await tx.session(session)).session !== null) return null
      tx.append(
        { type: 'agent.created', session, turn: null, agent: id, definition },
        createdEvent(newSession({ agent: id, cwd, title: ask.name }, session, tx.now)),
      )
      return null
    }),
  )
  if (refusal !== null) return refusal
  // Made by a try that was answered with a fault: nobody told the book.
  if (book.made(id) === undefined) await book.load(runtime.lists)
  const made = book.made(id)
  if (made === undefined) return agentUnknown(id, book.names())
  return (await isAsked(runtime, session, cwd, definition))
    ? showAgent(made.agent, 'api', made.at)
    : badInput('Idempotency-Key', ask.id, 'a key that was not used for another agent')
}

/** Whether the agent that has this main session was made of the same words. */
async function isAsked(
  { store }: Runtime,
  session: SessionId,
  cwd: string,
  definition: AgentDefinition,
): Promise<boolean> {
  const { events } = await store.read(
    0,
    { sessions: [session], types: ['agent.created', 'session.created'] },
    2,
  )
  return events.every(({ event }) =>
    event.type === 'agent.created'
      ? isSameButMarks(canonical(event.definition), canonical(definition))
      : event.type === 'session.created' && event.cwd === cwd,
  )
}

/**
 * The agent of a connected program: the configured one of that name, or one that is made at its first hello. Beside
 * an agent that we start ourselves, the program that a person has open is another one.
 */
export async function hostAgent(
  runtime: Runtime,
  book: AgentBook,
  here: Agents,
  { name, description, tools }: { name: string; description: string; tools: readonly string[] },
  cwd: string,
): Promise<AgentView | Refusal> {
  const configured = here.get(name)
  const isBeside = configured !== undefined && isDriven(configured)
  if (configured !== undefined && !isBeside)
    return configured.driver === 'host'
      ? showAgent(configured, 'configured', null)
      : badInput(
          'agent',
          name,
          `a name that no agent has: this one is run by the driver "${configured.driver}"`,
        )
  const id = `agent_host-${name}`
  const present = book.made(id)?.agent
  if (present === undefined || present.description !== description || present.tools.join() !== tools.join()) {
    const session = mainSession(id)
    const definition: AgentDefinition = {
      title: isBeside ? `${name}-open` : name,
      description,
      prompt: '',
      model: null,
      tools: [...tools],
      driver: 'host',
    }
    const refusal = await making(runtime, book, id, () =>
      runtime.store.transact([`session:${session}`], async (tx) => {
        tx.append({ type: 'agent.created', session, turn: null, agent: id, definition })
        // It has the sessions that its program brings, and no main one.
        if ((await tx.session(session)).session === null)
          tx.append(createdEvent(newSession({ agent: id, cwd, title: name }, session, tx.now)), {
            type: 'session.archived',
            session,
            turn: null,
            cause: 'deleted',
          })
        return null
      }),
    )
    if (refusal !== null) return refusal
  }
  const made = book.made(id)
  return made === undefined ? agentUnknown(name, book.names()) : showAgent(made.agent, 'api', made.at)
}

export const showAgent = (
  agent: Agent,
  origin: AgentView['origin'],
  createdAt: Millis | null,
): AgentView => ({
  id: agent.name,
  name: agent.title ?? agent.name,
  description: agent.description,
  driver: agent.driver,
  model: agent.model ?? null,
  tools: [...agent.tools],
  allowSubAgentCalls: agent.allowSubAgentCalls,
  mayCall: agent.mayCall ?? null,
  origin,
  session: origin === 'api' ? mainSession(agent.name) : null,
  system: agent.prompt,
  createdAt,
  project: null,
  status: 'ready',
  reason: null,
})
