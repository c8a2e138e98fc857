/** The desk with the asker as the first argument, as tests of many askers read best. */
import type { SessionId, TurnId } from '../../src/model/id.ts'
import type { Json } from '../../src/model/json.ts'
import type { MessageSource } from '../../src/model/event.ts'
import { isRefusal, type Refusal } from '../../src/model/refusal.ts'
import type { Who } from '../../src/runtime/desk/asker.ts'
import type { Desks } from '../../src/runtime/desk/desk.ts'
import type { FeedFilter, FeedSink } from '../../src/runtime/look/feed.ts'
import type { MailAsk } from '../../src/runtime/kernel/mail-port.ts'
import type { ToolUse } from '../../src/runtime/sessions/client-turn.ts'
import type { CreateAgentAsk } from '../../src/runtime/sessions/agent-book.ts'
import type { SessionsAsk } from '../../src/runtime/look/look.ts'
import type { TracedTool } from '../../src/wire/tools.ts'

export type SendAsk = {
  to: SessionId
  text: string
  source: MessageSource
  from: SessionId | null
  applet: string | null
  delivery: 'auto' | 'buffer' | 'now'
  inReplyTo: string | null
  id: string | null
  trace: string | null
}
export type CreateAsk = {
  cwd: string
  agent: string | null
  model: string | null
  title: string
  parent: SessionId | null
  initialMessage: string | null
  id: string | null
  trace: string | null
}
export type DraftAsk = { id: string; read: string | null }
export type Exchange = ReturnType<typeof exchangeOf>

const given = <T>(value: T | null): T | undefined => value ?? undefined
const use = ({ signal, id, trace }: ToolUse) => ({ signal, act: id, trace })

/** What the user asks for is never refused. */
function allowed<T extends object>(answer: T | Refusal): T {
  if (isRefusal(answer)) throw new Error(answer.code)
  return answer as T
}

export const exchangeOf = (desks: Desks) => ({
  createSession(who: Who, { id, trace, ...ask }: CreateAsk) {
    const { cwd, agent, model, title, parent, initialMessage } = ask
    return desks.as({ who, act: id, trace }).sessions.create({
      cwd,
      agent: given(agent),
      model: given(model),
      title,
      parent,
      initialMessage: given(initialMessage),
    })
  },
  async clientSession(name: string, cwd: string): Promise<SessionId> {
    const made = await desks
      .as({ act: `client-${name.replaceAll(' ', '-')}` })
      .sessions.create({ cwd, agent: 'external', title: name })
    return allowed(made).sessionId
  },
  findSession: (id: string) => desks.as({}).sessions.get(id),
  async sessions(ask: SessionsAsk) {
    const { dir, active, agent, parent, archived, cursor, limit } = ask
    const listed = await desks.as({}).sessions.list({
      dir: given(dir),
      active: given(active),
      agent: given(agent),
      parent: given(parent),
      archived,
      cursor: given(cursor),
      limit,
    })
    return allowed(listed)
  },
  sessionView: (id: SessionId) => desks.as({}).sessions.get(id),
  archive: (id: SessionId) => desks.as({}).sessions.archive(id),
  adopt: (id: SessionId, parent: SessionId | null) => desks.as({}).sessions.adopt(id, parent),
  send(who: Who, { to, text, source, from, applet, delivery, inReplyTo, id, trace }: SendAsk) {
    const isTurn = who.kind === 'turn'
    return desks.as({ who, act: id, trace }).sessions.send(to, {
      message: text,
      source,
      ...(from === null || isTurn ? {} : { fromSession: from }),
      ...(applet === null ? {} : { applet }),
      delivery,
      ...(inReplyTo === null ? {} : { inReplyTo }),
      ...(id === null ? {} : { messageId: id }),
    })
  },
  history: (id: SessionId, before: number | null, limit: number) =>
    desks.as({}).sessions.history(id, { before: given(before), limit }),
  state: (id: SessionId) => desks.as({}).sessions.state(id),
  waitForSession: (who: Who, id: SessionId, timeoutMs: number, signal: AbortSignal) =>
    desks.as({ who, signal }).sessions.wait(id, timeoutMs),
  cancel: (id: SessionId, all: boolean, _cause: string, turn: TurnId | null = null) =>
    desks.as({}).sessions.cancel(id, { all, turn: given(turn) }),
  mail: {
    send: (who: Who, ask: MailAsk, act: string | null, trace: string | null) =>
      desks
        .as({ who, act, trace })
        .mail.send({ ...ask, reply: ask.reply === undefined ? undefined : [...ask.reply] }),
    revise: (who: Who, { id, read }: DraftAsk, message: string, act: string | null) =>
      desks.as({ who, act }).mail.revise(id, { message, ifUpdatedAt: given(read) }),
    release: (who: Who, { id, read }: DraftAsk, act: string | null, trace: string | null) =>
      desks.as({ who, act, trace }).mail.release(id, { ifUpdatedAt: given(read) }),
    decline: (who: Who, id: string) => desks.as({ who }).mail.decline(id),
    inbox: (who: Who, session: SessionId, replies: boolean | null) =>
      desks.as({ who }).mail.inbox(session, { replies: given(replies) }),
    accept: (who: Who, session: SessionId, which: string | number, act: string | null) =>
      desks.as({ who, act }).mail.accept(session, which),
    message: (who: Who, id: string) => desks.as({ who }).mail.get(id),
    thread: (who: Who, id: string, after: number | null) =>
      desks.as({ who }).mail.thread(id, { after: given(after) }),
    drafts: async (session: SessionId | null, before: number | null) =>
      allowed(await desks.as({}).mail.drafts(session, { before: given(before) })),
    deadLetters: async (before: number | null) =>
      allowed(await desks.as({}).mail.deadLetters({ before: given(before) })),
    fork: (
      who: Who,
      { from, back, messageId }: { from: SessionId; back: number | null; messageId: string | null },
      act: string | null,
    ) => desks.as({ who, act }).sessions.fork(from, { back: given(back), messageId: given(messageId) }),
  },
  async toolsFor(who: Who, agent?: string) {
    const listed = await desks.as({ who }).tools.list({ agent })
    return isRefusal(listed) ? listed : listed.tools
  },
  useTool: (who: Who, name: string, input: Json, how: ToolUse) =>
    desks.as({ who, ...use(how) }).tools.use(name, input),
  traceTool: (session: SessionId, traced: TracedTool) => desks.as({}).tools.trace(session, traced),
  async call(id: string) {
    const record = await desks.as({}).calls.get(id)
    return isRefusal(record) ? null : record
  },
  async calls({ session, limit }: { session: SessionId | null; limit: number }) {
    const page = await desks.as({}).calls.list({ session: given(session), limit })
    return isRefusal(page) ? [] : page.calls
  },
  flow: (id: string) => desks.as({}).log.flow(id),
  async flowEvents(id: string, after: number, limit: number) {
    const page = await desks.as({}).log.flowEvents(id, { after, limit })
    if (page === null) return null
    return {
      events: page.events.map(({ seq, at, event }) => ({ seq: Number(seq), at, event })),
      next: page.next === null ? null : Number(page.next),
      upTo: Number(page.upTo),
    }
  },
  async questions() {
    const list = await desks.as({}).questions.list()
    return isRefusal(list) ? [] : list.questions
  },
  answer: (question: string, answer: 'allow' | 'deny') => desks.as({}).questions.answer(question, { answer }),
  agents: async () => (await desks.as({}).agents.list()).agents,
  createAgent: ({ id, ...ask }: CreateAgentAsk) => desks.as({ act: id }).agents.create(ask),
  hostAgent: (ask: { name: string; description: string; tools: readonly string[] }) =>
    desks.as({}).agents.connect(ask),
  agent: (id: string) => desks.as({}).agents.get(id),
  async agentSession(id: string): Promise<SessionId | Refusal> {
    const main = await desks.as({}).agents.session(id)
    return isRefusal(main) ? main : main.session
  },
  lastSeq: () => desks.as({}).log.lastSeq(),
  subscribe: (after: number, { sessions }: FeedFilter, sink: FeedSink) =>
    desks.as({}).log.follow(after, sessions, sink),
})
