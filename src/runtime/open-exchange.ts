/** Puts the acts behind the one interface that doors use. */
import { externalAgent } from '../model/agent.ts'
import type { SessionRow } from '../model/facts.ts'
import type { SessionId } from '../model/id.ts'
import { looksDrawn } from '../model/mail.ts'
import { agentDescriptionMax, agentPromptBytesMax, agentTitleMax, agentToolsMax } from '../model/limits.ts'
import { agentUnknown, badInput, type Refusal } from '../model/refusal.ts'
import { byteLength } from '../model/text.ts'
import { createAgent, hostAgent, mainSession, viewOf, type AgentBook } from './agent-book.ts'
import { askTurn } from './ask-turn.ts'
import { actorOf, waitInOwnTurn } from './client-turn.ts'
import type {
  AgentView,
  CreateAgentAsk,
  CreateAnswer,
  CreateAsk,
  Exchange,
  Question,
  SendAnswer,
  SendAsk,
  WaitEdge,
  Who,
} from './exchange.ts'
import { feedOf } from './feed.ts'
import { flowEventsOf } from './flow-events.ts'
import { isDirectory } from './is-directory.ts'
import type { Line } from './line.ts'
import { listCalls } from './listing.ts'
import { findSession, flowOf, historyOf, listSessions, viewOfSession } from './look.ts'
import type { Lists } from './lists-port.ts'
import type { Tool } from './ports.ts'
import { answerQuestion } from './question.ts'
import { recordOf } from './record.ts'
import { readAll } from './scope.ts'
import { exchangeMail } from './open-mail.ts'
import { post, send, type Sender } from './send.ts'
import {
  adoptSession,
  archiveSession,
  cancelOnce,
  cancelSession,
  createSession,
  renameSession,
} from './sessions.ts'
import { spawn } from './session-acts.ts'
import { stateOf, untilResting } from './state.ts'
import { traceTool } from './trace-tool.ts'
import { toolsFor, useTool } from './use-tool.ts'

export type ExchangeParts = {
  /** Models that need no provider. */
  builtIn?: readonly string[]
  line: Line
  lists: Lists
  book: AgentBook
  /** All that an agent can be given. */
  toolNames: readonly string[]
  /** Providers whose models can be used. */
  providers: readonly string[]
  /** Tools that clients outside may use. */
  doorTools: readonly Tool[]
  /** Where sessions work that name no directory. */
  cwd: string
}

export function openExchange(parts: ExchangeParts): Exchange & { stop(): void } {
  const { line, lists, book } = parts
  const feed = feedOf(line)
  const known = async (id: SessionId): Promise<SessionRow | Refusal> =>
    (await line.store.session(id)) ?? { code: 'session_unknown', session: id }
  const callsPage: Exchange['callsPage'] = (filter) =>
    listCalls({ store: line.store, lists, nameOf: (agent) => line.agents.get(agent)?.title ?? agent }, filter)
  return {
    createSession: (who, ask) => create(parts, who, ask),
    clientSession: (name, cwd) => clientSession(line, name, cwd),
    findSession: (given) => findSession(line, lists, given),
    sessions: (ask) => listSessions(line, lists, ask),
    async sessionView(id) {
      const row = await known(id)
      return 'code' in row ? row : viewOfSession(line, row)
    },
    async archive(id) {
      const archived = await archiveSession(line, lists, id)
      return 'code' in archived ? archived : { archived }
    },
    rename: (id, title) => renameSession(line, id, title),
    async adopt(id, parent) {
      const refusal = await adoptSession(line, id, parent)
      const row = await known(id)
      return refusal ?? ('code' in row ? row : viewOfSession(line, row))
    },
    send: (who, ask) => sendAs(line, who, ask),
    history: (id, before, limit) => historyOf(line, id, before, limit),
    state: (id) => stateOf(line, id),
    waitForSession: (who, id, timeoutMs, signal) => waitAs(line, who, id, timeoutMs, signal),
    async cancel(id, all, cause, turn = null, act = null) {
      const row = await known(id)
      if ('code' in row) return row
      return {
        cancelled: await (act === null
          ? cancelSession(line, id, all, cause, turn)
          : cancelOnce(line, id, act, all, cause, turn)),
      }
    },
    ask: (id, text, use) => askTurn(line, id, text, use),
    mail: exchangeMail({ line, cwd: parts.cwd, senderOf }),
    toolsFor: (who, agent) => toolsFor(parts, who, agent),
    useTool: (who, name, input, use) => useTool(parts, who, name, input, use),
    traceTool: (session, traced) => traceTool(line, session, traced),
    call: (id) => recordOf(line.store, id),
    calls: async (filter) => (await callsPage(filter)).calls,
    callsPage,
    flow: (id) => flowOf(line, id),
    flowEvents: (id, after, limit) => flowEventsOf(line.store, id, after, limit),
    waits: async () =>
      (await lists.waits(line.clock.now())).map((row): WaitEdge => ({
        ...row,
        kind: row.call === null ? 'wait' : 'call',
      })),
    questions: async () =>
      (await lists.openQuestions()).flatMap(({ event, at }): Question[] =>
        event.type === 'question.asked' && event.turn !== null
          ? [
              {
                id: event.question,
                session: event.session,
                turn: event.turn,
                flow: event.flow,
                agent: event.agent,
                tool: event.tool,
                input: event.input,
                path: event.path,
                askedAt: at,
                deadline: event.deadline,
              },
            ]
          : [],
      ),
    notices: async (session, limit) =>
      (await readAll(line.store, 0, { sessions: [session], types: ['notice.raised'] }))
        .slice(-limit)
        .flatMap(({ seq, at, event }) =>
          event.type === 'notice.raised' ? [{ seq, at, about: event.about, text: event.text }] : [],
        ),
    answer: (question, answer, by) => answerQuestion(line, question, answer, by),
    agents: async () => agentViews(book),
    createAgent: async (ask) =>
      sizeProblem(ask) ?? agentProblem(parts, ask) ?? createAgent(line, book, ask, parts.cwd),
    hostAgent: (ask) => hostAgent(line, book, ask, parts.cwd),
    agent: async (idOrName) => agentNamed(book, idOrName),
    deleteAgent: (id) => deleteAgent(parts, id),
    agentSession: (id) => agentSession(parts, id),
    lastSeq: () => line.store.lastSeq(),
    storeHealth: () => line.store.health(),
    subscribe: (after, filter, sink) => feed.subscribe(after, filter, sink),
    agentsByName: (name) => line.agents.get(name),
    stop: () => feed.stop(),
  }
}

/** R11: it is kept in memory, and shown to every agent that may call it. */
function sizeProblem({ name, description, system, model, tools }: CreateAgentAsk): Refusal | null {
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

/**
 * A tool or a provider that nobody has would simply never be there. With no provider at all the offline demo
 * answers, whatever was asked for.
 */
function agentProblem(
  { toolNames, providers, builtIn = [] }: ExchangeParts,
  { tools, model }: CreateAgentAsk,
): Refusal | null {
  const wrong = (tools ?? []).findIndex((tool) => !tool.endsWith('*') && !toolNames.includes(tool))
  if (wrong >= 0) return badInput(`tools.${wrong}`, tools?.[wrong], `one of ${toolNames.join(', ')}`)
  const provider = model?.split('/')[0] ?? ''
  if (
    model === null ||
    builtIn.includes(model) ||
    providers.length === 0 ||
    (model.includes('/') && providers.includes(provider))
  )
    return null
  return badInput('model', model, `"provider/model" with one of the providers ${providers.join(', ')}`)
}

const agentViews = (book: AgentBook): AgentView[] =>
  book.names().flatMap((name) => {
    const made = book.made(name)
    const agent = made?.agent ?? book.get(name)
    return agent === undefined
      ? []
      : [viewOf(agent, made === undefined ? 'configured' : 'api', made?.at ?? null)]
  })

function agentNamed(book: AgentBook, idOrName: string): AgentView | Refusal {
  const agent = book.resolve?.(idOrName)
  const made = agent === undefined ? undefined : book.made(agent.name)
  return agent === undefined
    ? agentUnknown(idOrName, book.names())
    : viewOf(agent, made === undefined ? 'configured' : 'api', made?.at ?? null)
}

async function deleteAgent({ line, lists, book }: ExchangeParts, id: string): Promise<AgentView | Refusal> {
  const made = book.made(id)
  if (made === undefined)
    return book.get(id) === undefined
      ? agentUnknown(id, book.names())
      : badInput('id', id, 'the id of an agent that was made by API; this one stands in the configuration')
  const session = mainSession(id)
  await archiveSession(line, lists, session)
  await line.store.transact([`session:${session}`], async (tx) =>
    tx.append({ type: 'agent.deleted', session, turn: null, agent: id }),
  )
  return viewOf(made.agent, 'api', made.at)
}

async function agentSession(
  { line, book, cwd }: ExchangeParts,
  idOrName: string,
): Promise<SessionId | Refusal> {
  const agent = book.resolve?.(idOrName)
  if (agent === undefined) return agentUnknown(idOrName, book.names())
  const session = mainSession(agent.name)
  if ((await line.store.session(session)) !== null) return session
  const made = await createSession(
    line,
    { agent: agent.name, cwd, title: agent.title ?? agent.name },
    { kind: 'user' },
    session.slice(4),
  )
  return 'code' in made ? made : made.id
}

/** One session per kind of client; its name is made fit for an id. */
async function clientSession(line: Line, name: string, cwd: string): Promise<SessionId> {
  const clean = name.replaceAll(/[^A-Za-z0-9_.-]+/g, '-').slice(0, 100) || 'client'
  const id: SessionId = `ses_client-${clean}`
  if ((await line.store.session(id)) !== null) return id
  const made = await createSession(
    line,
    { agent: externalAgent.name, cwd, title: clean },
    { kind: 'user' },
    id.slice(4),
  )
  if ('code' in made && made.code !== 'bad_input')
    throw new Error(`a session for ${clean} could not be made: ${made.code}`)
  return id
}

/** The running turn that speaks, a client, or the user. */
export function senderOf(line: Line, who: Who, session: SessionRow | null): Sender | Refusal {
  if (who.kind === 'user') return { kind: 'user' }
  if (session?.archived === 'deleted') return { code: 'session_unknown', session: session.id }
  const actor = actorOf(line, who, session)
  return 'code' in actor || actor.kind === 'turn'
    ? actor
    : { kind: 'client', session: actor.session.id, agent: actor.agent }
}

async function create(parts: ExchangeParts, who: Who, ask: CreateAsk): Promise<CreateAnswer | Refusal> {
  const { line, book } = parts
  if (!isDirectory(ask.cwd)) return badInput('cwd', ask.cwd, 'a directory that exists')
  const own = who.kind === 'session' ? await line.store.session(who.session) : null
  const sender = senderOf(line, who, own)
  if ('code' in sender) return sender
  if (ask.agent === externalAgent.name) return external(line, ask)
  const name = ask.agent ?? book.names()[0]
  const agent = name === undefined ? undefined : book.resolve?.(name)
  if (agent === undefined) return agentUnknown(name ?? '', book.names())
  const parent = ask.parent ?? (sender.kind === 'turn' ? sender.running.row.session : null)
  if (parent !== null && (await line.store.session(parent)) === null)
    return { code: 'session_unknown', session: parent }
  const place = { cwd: ask.cwd, agent: agent.name, model: ask.model ?? agent.model ?? null }
  if (sender.kind === 'turn') {
    const made = await spawn(
      line,
      sender,
      sender.running.session,
      { cwd: ask.cwd, agent: agent.name, model: ask.model, initialMessage: ask.initialMessage },
      ask.id,
    )
    return 'code' in made
      ? made
      : { ...place, sessionId: made.sessionId, messageId: made.messageId, status: null }
  }
  const to = { agent: agent.name, cwd: ask.cwd, title: ask.title, model: ask.model, parent }
  if (ask.initialMessage === null) {
    const row = await createSession(line, to, sender, ask.id)
    return 'code' in row ? row : { ...place, sessionId: row.id, messageId: null, status: null }
  }
  const sent = await send(line, {
    to,
    text: ask.initialMessage,
    sender,
    id: ask.id === null ? null : `msg_${ask.id}`,
    trace: ask.trace,
  })
  return 'code' in sent
    ? sent
    : { ...place, sessionId: sent.session, messageId: sent.message, status: sent.status }
}

async function external(line: Line, ask: CreateAsk): Promise<CreateAnswer | Refusal> {
  if (ask.initialMessage !== null)
    return badInput('initialMessage', ask.initialMessage, 'nothing: a client outside is never run')
  const row = await createSession(
    line,
    { agent: externalAgent.name, cwd: ask.cwd, title: ask.title, parent: ask.parent },
    { kind: 'user' },
    ask.id,
  )
  return 'code' in row
    ? row
    : { sessionId: row.id, cwd: row.cwd, agent: row.agent, model: null, messageId: null, status: null }
}

async function sendAs(line: Line, who: Who, ask: SendAsk): Promise<SendAnswer | Refusal> {
  const speaks: Who =
    ask.source === 'agent' && ask.from !== null && who.kind !== 'turn'
      ? { kind: 'session', session: ask.from }
      : who
  const own = speaks.kind === 'session' ? await line.store.session(speaks.session) : null
  const agent = ask.source === 'agent' ? senderOf(line, speaks, own) : null
  if (agent !== null && 'code' in agent) return agent
  if (ask.id !== null && looksDrawn(ask.id) && (await line.lists.mail.message(ask.id)) === null)
    return badInput('messageId', ask.id, 'an id of your own: this one looks like one of ours')
  const sender: Sender =
    agent ?? (ask.source === 'applet' ? { kind: 'applet', name: ask.applet ?? '' } : { kind: 'user' })
  const sent = await post(line, {
    to: { session: ask.to },
    text: ask.text,
    sender,
    now: ask.delivery === 'now',
    inbox: ask.delivery === 'buffer' ? 'always' : 'auto',
    inReplyTo: ask.inReplyTo,
    id: ask.id,
    trace: ask.trace,
  })
  return 'code' in sent
    ? sent
    : {
        messageId: sent.message,
        status: sent.status,
        sessionId: sent.session,
        turn: sent.turn,
        flow: sent.flow,
      }
}

async function waitAs(
  line: Line,
  who: Who,
  id: SessionId,
  timeoutMs: number,
  signal: AbortSignal,
): ReturnType<Exchange['waitForSession']> {
  const actor =
    who.kind === 'user'
      ? null
      : actorOf(line, who, who.kind === 'session' ? await line.store.session(who.session) : null)
  if (actor === null || 'code' in actor || (actor.kind === 'client' && actor.session.kind === 'external'))
    return untilResting(line, id, timeoutMs, signal)
  return actor.kind === 'turn'
    ? actor.running.acts.waitForSession(id, timeoutMs)
    : waitInOwnTurn(line, actor, id, timeoutMs, signal)
}
