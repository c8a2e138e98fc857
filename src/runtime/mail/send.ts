/**
 * A message to a session: recorded, and its turn started at once where the session rests. A user's is the
 * root of a flow; an agent's goes on in its sender's.
 */
import { findAgent, inProject } from '../kernel/projects-port.ts'
import { fingerprint } from '../../model/fingerprint.ts'
import { externalAgent, type Agent } from '../../model/agent.ts'
import type { EventOf, Grant } from '../../model/event.ts'
import type { Notices } from '../../model/event-parts.ts'
import type { SessionRow } from '../../model/facts.ts'
import type { FlowId, SessionId, TurnId } from '../../model/id.ts'
import { answeredEvent, isWaiting, messageIdPattern, idSuffix } from '../../model/mail.ts'
import { type Refusal, badInput, isRefusal } from '../../model/refusal.ts'
import { isSameButMarks } from '../../model/secret-mark.ts'
import { openMessage } from '../../model/send.ts'
import { sentTurnMs } from '../../model/time-limits.ts'
import { byteLength, countGently } from '../../model/text.ts'
import { isOpened, type OpenedTurn, openTurn, sentEvent, startedEvent } from '../kernel/commit.ts'
import { lookAtDay, readDayBudget } from '../kernel/day-spending.ts'
import { keepTime } from '../kernel/kept-time.ts'
import { asCalled, createdEvent } from '../kernel/new-session.ts'
import { isThere } from '../kernel/runtime.ts'
import type { Runtime } from '../turns/runtime.ts'
import type { Tx } from '../kernel/store-port.ts'
import { hashText } from '../kernel/recorded.ts'
import { readAllQuiet, ruleOnReply } from './hold-reply.ts'
import { type Sender, mustDraft, senderOwner, senderClient, readWorld, senderSource } from './sender.ts'
import {
  type SendRequest,
  type Sending,
  findDraft,
  answeredBy,
  makeSession,
  listKeys,
  readFacts,
} from './send-facts.ts'

/** Without a turn it waits in the inbox. */
export type Posted = {
  message: string
  session: SessionId
  turn: TurnId | null
  flow: FlowId
  status: 'dispatched' | 'queued' | 'buffered'
  /** It was sent before. */
  again: boolean
}
export type Sent = Posted & { turn: TurnId; status: 'dispatched' | 'queued' }
export const user: Sender = { kind: 'user' }

/** Opens a turn. */
export async function send(
  runtime: Runtime,
  request: Omit<SendRequest, 'inbox' | 'draft'>,
): Promise<Sent | Refusal> {
  const posted = await post(runtime, request)
  if (isRefusal(posted)) return posted
  return posted.turn === null || posted.status === 'buffered'
    ? { code: 'message_already_sent', message: posted.message }
    : { ...posted, turn: posted.turn, status: posted.status }
}

/** Opens a turn, or waits in the inbox. */
export async function post(node: Runtime, request: SendRequest): Promise<Posted | Refusal> {
  const runtime = await aroundReceiver(node, request.to)
  const problem = findProblem(runtime, request)
  if (problem !== null) return problem
  const suffix = request.id == null ? runtime.ids.next() : idSuffix(request.id)
  // An id that its sender chose must not name a session: it could be anybody's.
  const session: SessionId =
    'session' in request.to
      ? request.to.session
      : `ses_${request.chosen === true ? fingerprint(`${senderOwner(request.sender ?? user)}\n${suffix}`) : suffix}`
  const sender = request.sender ?? user
  // The acts above keep a draft instead: nothing goes past this, whatever asked for it.
  if (mustDraft(runtime, sender, session))
    return {
      code: 'not_allowed',
      agent: senderOwner(sender),
      what: 'send without a person',
      allowed: ['drafts'],
    }
  const flow: FlowId = sender.kind === 'turn' ? sender.running.row.flow : `flow_${suffix}`
  const owner = senderOwner(sender)
  // What waits is counted when it is accepted: many a message is only read.
  const sending: Sending = {
    request,
    sender,
    owner,
    suffix,
    session,
    flow,
    tokens: request.inbox === 'always' ? 0 : await countGently(runtime.count, request.text),
    boundary: runtime.ids.boundary(),
  }
  const looking = lookAtDay(runtime, 'cwd' in request.to ? request.to.cwd : null)
  if (looking !== null) await looking
  const isAllQuiet = await readAllQuiet(runtime, sending)
  const decided = await openTurn(runtime, `turn_${suffix}`, session, () =>
    runtime.store.transact(listKeys(sending), (tx) => decide(tx, runtime, sending, isAllQuiet)),
  )
  if (!isOpened(decided)) return decided === 'known' ? sentBefore(runtime, sending) : decided
  const { input: sent, started } = decided
  return {
    message: sent.message,
    session: sent.session,
    turn: sent.turn,
    flow: sent.flow,
    status: sent.turn === null ? 'buffered' : started === null ? 'queued' : 'dispatched',
    again: false,
  }
}

function findProblem(runtime: Runtime, request: SendRequest): Refusal | null {
  if (request.text.trim() === '') return badInput('message', request.text, 'a text that says what to do')
  if (request.id != null && !messageIdPattern.test(request.id))
    return badInput('messageId', request.id, 'letters, digits, "_" and "-", at most 128 of them,')
  for (const field of ['timeoutMs', 'maxTokens', 'maxUsd'] as const) {
    const given = request[field]
    if (given !== undefined && !(Number.isFinite(given) && given >= 0))
      return badInput(field, given, 'a number that is zero or more')
  }
  const bytes = byteLength(request.text)
  return bytes > runtime.limits.taskBytesMax
    ? { code: 'too_large', field: 'message', bytes, bytesMax: runtime.limits.taskBytesMax }
    : null
}

async function decide(
  tx: Tx,
  runtime: Runtime,
  sending: Sending,
  isAllQuiet: boolean,
): Promise<OpenedTurn<EventOf<'message.sent'>> | Refusal | 'known'> {
  const { request, sender, session, flow } = sending
  const turn: TurnId = `turn_${sending.suffix}`
  const draft = await findDraft(tx, sending, turn)
  if (draft === 'known' || isRefusal(draft)) return draft
  const answered = await answeredBy(tx, sending)
  if (answered !== null && isRefusal(answered)) return answered
  const facts = await readFacts(tx, runtime, sending)
  const fresh = await makeSession(tx, runtime, sending)
  if (fresh !== null && isRefusal(fresh)) return fresh
  const row = facts.target.session ?? fresh?.row ?? null
  const agent = row === null ? undefined : findReceiver(runtime, row, request.to)
  const ruling = await ruleOnReply(tx, runtime, sending, isAllQuiet)
  const inbox =
    ruling.held ||
    request.inbox === 'always' ||
    (request.inbox === 'auto' && row !== null && row.kind !== 'persistent')
  const { waiting, pending } = facts.waiting === undefined && inbox ? await tx.mail(session) : facts
  if (fresh !== null && facts.target.session !== null)
    return badInput('Idempotency-Key', request.id, 'a key that was not used for another session')
  const grant = openMessage(
    {
      target: session,
      fresh: fresh?.row ?? null,
      targetAgent: agent,
      client: senderClient(sender),
      now: request.now ?? false,
      taskHash: sender.kind === 'turn' ? hashText(request.text) : '',
      maxTokens: request.maxTokens,
      maxUsd: request.maxUsd,
      inbox,
      reply: answered !== null,
      released: sender.kind === 'released',
      tool: request.draft === undefined ? 'send_agent_message' : 'send-message',
    },
    { ...facts, waiting: waiting ?? 0, pending: pending ?? false },
    { ...readWorld(runtime, sender, tx.now), day: row === null ? null : readDayBudget(runtime, row.cwd) },
  )
  if (isRefusal(grant) || row === null) return isRefusal(grant) ? grant : { code: 'session_unknown', session }
  const told = inbox || fresh !== null ? null : await tx.notices(session)
  const sent = messageEvent(
    sending,
    inbox ? null : turn,
    grant,
    told,
    request.timeoutMs === undefined ? null : Math.floor(tx.now + request.timeoutMs),
  )
  const rests =
    !inbox && facts.target.running === null && facts.target.next === null && isThere(runtime, agent, row)
  const started = rests
    ? startedEvent(runtime, session, turn, tx.now + sentTurnMs(request.timeoutMs, agent, runtime.limits))
    : null
  if (started === null) keepSent(runtime, sent)
  tx.append(
    ...draft.events,
    ...(fresh === null
      ? []
      : [createdEvent(fresh.row, { flow: sender.kind === 'turn' ? flow : null }), ...fresh.events]),
    sent,
    ...(started === null ? [] : [started]),
    ...(inbox ? [] : ruling.woken),
    ...(answered === null ? [] : [answeredEvent(answered, sent.message, sent.senderTurn)]),
  )
  return { session: row, input: sent, started, at: tx.now }
}

/** What is queued has the time that its sender gave it. */
function keepSent(runtime: Runtime, { turn, deadline }: EventOf<'message.sent'>): void {
  if (turn !== null && deadline !== null) keepTime(runtime, turn, deadline)
}

/** The same id again: the same answer, if it was the same message; otherwise a no. */
async function sentBefore(
  runtime: Runtime,
  { request, sender, session, owner }: Sending,
): Promise<Posted | Refusal> {
  const id = request.id ?? ''
  const known = await runtime.lists.mail.message(id)
  if (known === null || known.sent === null) return { code: 'message_already_sent', message: id }
  if (known.owner !== owner) return { code: 'message_not_yours', message: id }
  const from = sender.kind === 'user' || sender.kind === 'applet' ? null : owner
  const initial = request.draft?.initial ?? request.text
  if (
    known.from !== from ||
    known.to !== session ||
    (!isSameButMarks(known.text, request.text) && !isSameButMarks(known.initial, initial))
  )
    return { code: 'message_already_sent', message: id }
  const status = isWaiting(known) ? 'buffered' : known.status === 'queued' ? 'queued' : 'dispatched'
  return { message: known.id, session, turn: known.turn, flow: known.sent.flow, status, again: true }
}

function messageEvent(
  { request, sender, suffix, session, flow, tokens, boundary }: Sending,
  turn: TurnId | null,
  grant: Grant,
  notices: Notices | null,
  deadline: number | null,
): EventOf<'message.sent'> {
  const fromTurn = sender.kind === 'turn' ? sender.running : null
  return sentEvent({
    session,
    turn,
    message: request.id ?? `msg_${suffix}`,
    flow,
    from: fromTurn?.row.session ?? senderClient(sender),
    senderTurn: fromTurn?.row.id ?? null,
    source: senderSource(sender),
    applet: sender.kind === 'applet' ? sender.name : null,
    inReplyTo: request.inReplyTo ?? null,
    text: request.text,
    tokens,
    deadline,
    trace: request.trace ?? null,
    grant,
    ...(boundary === null ? {} : { boundary }),
    ...(notices === null ? {} : { notices }),
    ...(sender.kind === 'released' ? { releasedBy: 'user' } : {}),
  })
}

/** The runtime as the project of the receiver has it. */
async function aroundReceiver(runtime: Runtime, to: SendRequest['to']): Promise<Runtime> {
  if (runtime.projects === undefined) return runtime
  if ('cwd' in to) return inProject(runtime, to.cwd)
  const row = await runtime.store.session('session' in to ? to.session : to.fork)
  return row === null ? runtime : inProject(runtime, row.cwd)
}

/** Its sender's leave is for the name that its sender knows. */
function findReceiver(runtime: Runtime, row: SessionRow, to: SendRequest['to']): Agent | undefined {
  const agent = row.kind === 'external' ? externalAgent : findAgent(runtime, row)
  return agent === undefined || !('calledAs' in to) ? agent : asCalled(agent, to.calledAs)
}
