/**
 * What a client outside does through a door: a turn of its own session, with the client in place of a driver.
 * So its calls have a caller, a place in a flow, a deadline and a record like anybody's; external sessions may have several such turns at once, since nobody activates them.
 *
 * A session that a connected program runs has one turn at a time (R6), and what its own user makes it do between those is none of ours. Its calls between turns stand in an external session below it,
 * which takes no part in its queue; they are on its path, so that nobody whom it waits for can call it, and it waits for that session meanwhile, so that no ring closes across roots (R5).
 */
import { externalAgent, type Agent } from '../model/agent.ts'
import { fullAuthority } from '../model/authority.ts'
import type { EventOf } from '../model/event.ts'
import type { SessionRow, TurnRow } from '../model/facts.ts'
import { callsBelow, isCallId, type CallId, type FlowId, type SessionId, type TurnId } from '../model/id.ts'
import type { Json } from '../model/json.ts'
import type { Refusal } from '../model/refusal.ts'
import { isSameButMarks } from '../model/secret-shapes.ts'
import { countGently } from '../model/text.ts'
import { cancel } from './ending.ts'
import type { ToolUse, Who } from './exchange.ts'
import { storeRefusal } from './faults.ts'
import { starting, type Line } from './line.ts'
import type { Driver, SessionState, Steps, ToolAnswer } from './ports.ts'
import { turnEnding } from './run.ts'
import { turnRowOf, type Running } from './running.ts'
import { createSession } from './sessions.ts'
import { stateOf } from './state.ts'
import { callEnding } from './waiting.ts'

/** Who acts between turns: a client by its own session, or a session that a connected program runs, as its own agent. */
export type Client = { session: SessionRow; agent: Agent }

/** Whether a session acts as a client does: it is one, or a connected program runs it. Null where it is neither. */
export function clientOf(line: Line, session: SessionRow): Client | null {
  if (session.kind === 'external') return { session, agent: externalAgent }
  const agent = line.agents.get(session.agent)
  return agent?.driver === 'host' ? { session, agent } : null
}

export type Actor = { kind: 'turn'; running: Running } | ({ kind: 'client' } & Client)

/**
 * As whom a checked `who` acts: in the turn of it that runs, else as a client. R7: while a turn of it runs, nobody can tell what a program does for that turn from what it does besides,
 * so all of it has that turn's place, authority and end.
 */
export function actorOf(line: Line, who: Exclude<Who, { kind: 'user' }>, session: SessionRow | null): Actor | Refusal {
  const running = who.kind === 'turn' ? line.running.get(who.turn) : session?.kind === 'external' ? undefined : [...line.running.values()].find((one) => one.row.session === who.session)
  if (running !== undefined) return { kind: 'turn', running }
  const client = session === null || who.kind === 'turn' ? null : clientOf(line, session)
  return client === null ? { code: 'call_ended', why: 'the session that this speaks for has no turn that runs' } : { kind: 'client', ...client }
}

async function callingSession(line: Line, { session }: Client): Promise<SessionRow> {
  const id = session.kind === 'external' ? session.id : callsBelow(session.id)
  const known = id === session.id ? session : await line.store.session(id)
  if (known !== null) return known
  const made = await createSession(line, { agent: externalAgent.name, cwd: session.cwd, title: '', parent: session.id }, { kind: 'user' }, id.slice(4))
  if ('code' in made) throw new Error(`the session for the calls of ${session.id} could not be made: ${made.code}`)
  return made
}

/** Runs one tool as a turn of the client's session. With an id that was used before, the answer of the first try. */
export const useInOwnTurn = (line: Line, client: Client, tool: string, input: Json, use: ToolUse): Promise<ToolAnswer | Refusal> => inOwnTurn(line, client, tool, input, use, (_turn, steps) => steps.tool(tool, input))

/** A session that a connected program runs waits like anybody whom others may wait for: in a turn, so that it is an edge (R5). */
export async function waitInOwnTurn(line: Line, client: Client, target: SessionId, timeoutMs: number, signal: AbortSignal): Promise<SessionState | Refusal> {
  const input = { sessionId: target, timeoutMs }
  const answer = await inOwnTurn(line, client, 'wait_for_session', input, { signal, id: null, trace: null }, async (turn) => {
    const state = await line.running.get(turn)?.acts.waitForSession(target, timeoutMs)
    return { ok: true, value: (state ?? null) as Json }
  })
  return 'code' in answer || !answer.ok ? stateOf(line, target) : (answer.value as SessionState | Refusal)
}

type Work = (turn: TurnId, steps: Steps) => Promise<ToolAnswer>

/** What a client does, as a turn of its session: `work` is done in place of a driver. */
export async function inOwnTurn(line: Line, client: Client, tool: string, input: Json, use: ToolUse, work: Work): Promise<ToolAnswer | Refusal> {
  const session = await callingSession(line, client)
  const suffix = use.id ?? line.ids.next()
  const turn: TurnId = `turn_${suffix}`
  let answered: (answer: ToolAnswer) => void = () => undefined
  const answer = new Promise<ToolAnswer>((resolve) => (answered = resolve))
  const driver = driverOf(line, work, answered)
  // A second try of the same must not take the place of the first.
  if (!line.clients.has(turn)) line.clients.set(turn, driver)
  try {
    const opened = await starting(line, turn, session.id, () => open(line, client, session, suffix, tool, input, use))
    if (opened === 'known') return await answerOfTurn(line, turn, tool, input)
    const leave = (): void => void cancel(line, turn, 'cancelled', 'the client went away').catch(line.report)
    if (use.signal.aborted) leave()
    else use.signal.addEventListener('abort', leave, { once: true })
    try {
      return await Promise.race([answer, answerOfTurn(line, turn, tool, input), untilUnrecorded(line, turn)])
    } finally {
      use.signal.removeEventListener('abort', leave)
      if (session.id !== client.session.id) await endWait(line, client.session.id, turn, session.id)
    }
  } finally {
    // The driver was taken when the turn began.
    if (line.clients.get(turn) === driver) line.clients.delete(turn)
  }
}

/** Rejects when the turn could not be recorded any more: its client is told now, and not when the disk works again. */
function untilUnrecorded(line: Line, turn: TurnId): Promise<never> {
  const signal = line.running.get(turn)?.abort.signal
  return new Promise((_resolve, reject) => {
    signal?.addEventListener('abort', () => {
      if (storeRefusal(signal.reason) !== null) reject(signal.reason)
    }, { once: true })
  })
}

async function endWait(line: Line, waiter: SessionId, turn: TurnId, target: SessionId): Promise<void> {
  await line.store.transact([`session:${waiter}`], async (tx) => tx.append({ type: 'wait.ended', session: waiter, turn, target, reason: 'the tool has answered' }))
}

/** The answer is the output of the turn, so that a retry finds it. A call in the background keeps the turn open until it has ended: it would end with it. */
const driverOf = (line: Line, work: Work, answered: (answer: ToolAnswer) => void): Driver => ({
  async run({ turn }, steps, signal) {
    const answer = await work(turn.id, steps)
    answered(answer)
    const call = backgroundCall(answer)
    if (call !== null) await untilEnded(line, call, signal)
    return { outcome: 'completed', output: JSON.stringify(answer), error: null, iterations: 0 }
  },
})

function backgroundCall({ value }: ToolAnswer): CallId | null {
  if (value === null || typeof value !== 'object' || Array.isArray(value) || value['outcome'] !== null) return null
  const call = value['call_id']
  return typeof call === 'string' && isCallId(call) ? call : null
}

function untilEnded(line: Line, call: CallId, signal: AbortSignal): Promise<void> {
  const { ending, forget } = callEnding(line, call)
  return new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      forget()
      reject(signal.reason)
    }
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
    void ending.then(() => resolve())
  })
}

async function open(line: Line, client: Client, session: SessionRow, suffix: string, tool: string, input: Json, use: ToolUse): Promise<'known' | 'opened'> {
  const turn: TurnId = `turn_${suffix}`
  const flow: FlowId = `flow_${suffix}`
  const text = textOf(tool, input)
  const tokens = await countGently(line.count, text)
  const isBelow = session.id !== client.session.id
  const opened = await line.store.transact([`session:${session.id}`, `flow:${flow}`, ...(isBelow ? [`session:${client.session.id}` as const] : [])], async (tx) => {
    if (use.id !== null && (await tx.turn(turn)) !== null) return null
    const sent: EventOf<'message.sent'> = {
      type: 'message.sent', session: session.id, turn, message: `msg_${suffix}`, flow, from: null, senderTurn: null, source: 'user', applet: null, inReplyTo: null, text, tokens, deadline: null, trace: use.trace,
      grant: { agent: client.agent.name, depth: 0, subagentDepth: 0, path: [{ session: client.session.id, agent: client.agent.name }], authority: fullAuthority, tokensMax: line.limits.flowTokensMax ?? null, maxIterations: 1 },
    }
    const started: EventOf<'turn.started'> = { type: 'turn.started', session: session.id, turn, node: line.node, epoch: 1, deadline: Math.floor(tx.now + line.limits.turnMsMax) }
    tx.append(sent, started, ...(isBelow ? [{ type: 'wait.started' as const, session: client.session.id, turn, target: session.id, until: started.deadline }] : []))
    return { sent, started, at: tx.now }
  })
  if (opened === null) return 'known'
  line.start(turnRowOf(opened.sent, opened.started, opened.at), session, opened.sent, null)
  return 'opened'
}

/** What the client asked for, short: the call that follows has it whole. */
function textOf(tool: string, input: Json): string {
  const fields = input !== null && typeof input === 'object' && !Array.isArray(input) ? input : {}
  const target = fields['agent_name'] ?? fields['agent_id'] ?? fields['sessionId'] ?? ''
  const said = fields['task'] ?? fields['message'] ?? fields['initialMessage'] ?? ''
  return `${tool}${typeof target === 'string' && target !== '' ? ` ${target}` : ''}${typeof said === 'string' && said !== '' ? `: ${said.slice(0, 500).toWellFormed()}` : ''}`
}

async function answerOfTurn(line: Line, turn: TurnId, tool: string, input: Json): Promise<ToolAnswer | Refusal> {
  const row = await line.store.turn(turn)
  const opened = row === null ? null : await line.store.event(row.openedSeq)
  if (opened?.event.type === 'message.sent' && !isSameButMarks(opened.event.text, textOf(tool, input))) return { code: 'message_already_sent', message: opened.event.message }
  const begun = row === null || row.state === 'ended' ? null : await begunIn(line, row)
  if (begun !== null) return begun
  const ended = await turnEnding(line, turn)
  if (ended.outcome === 'completed') return JSON.parse(ended.output) as ToolAnswer
  return { ok: false, value: { error: { code: ended.outcome, message: ended.error ?? `${ended.outcome}: the request was stopped` } } }
}

/** A call in the background was answered when it began, and a second try is answered as the first was. */
async function begunIn(line: Line, row: TurnRow): Promise<ToolAnswer | null> {
  const { events } = await line.store.read(row.openedSeq - 1, { sessions: [row.session], types: ['call.opened'] }, 100)
  const opened = events.find(({ event }) => event.turn === row.id)?.event
  if (opened?.type !== 'call.opened' || !opened.background) return null
  return { ok: true, value: { agent_name: opened.grant.agent, success: false, output: '', tool_calls: [], tokens_used: 0, duration_seconds: 0, errors: [], call_id: opened.call, outcome: null, truncated: false } }
}
