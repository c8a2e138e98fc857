/** What a turn may do with other sessions: write to them, spawn them, look at them, wait for them. */
import { inProject, resolveAgent } from '../kernel/projects-port.ts'
import { resolve } from 'node:path'
import { fingerprint } from '../../model/fingerprint.ts'
import type { SessionRow } from '../../model/facts.ts'
import type { SessionId } from '../../model/id.ts'
import { type Refusal, badInput, isRefusal } from '../../model/refusal.ts'
import { refuseAgent } from '../kernel/refuse-agent.ts'
import { assertOurs, commit } from '../kernel/commit.ts'
import { flush } from '../kernel/flush.ts'
import { refuseDirectory } from '../kernel/is-directory.ts'
import type { Runtime } from './runtime.ts'
import { createMailActs } from '../mail/mail-acts.ts'
import type { MailActs } from '../kernel/mail-port.ts'
import type { Key } from '../kernel/store-port.ts'
import type { Acts, SpawnRequest } from '../kernel/ports.ts'
import { joinSignals, type Running, timeLeft } from '../kernel/running.ts'
import { findReceiver } from '../mail/address-inbox.ts'
import { sendMail } from '../mail/mail.ts'
import { mustDraft, type Sender } from '../mail/sender.ts'
import { post, send } from '../mail/send.ts'
import { createSession } from './sessions.ts'
import { findSession } from '../look/look.ts'
import { isResting, readState, untilResting } from '../look/state.ts'
import type { SessionState } from '../../wire/sessions.ts'

export type SessionActs = Pick<Acts, 'send' | 'spawn' | 'state' | 'waitForSession'> & MailActs

export function createSessionActs(runtime: Runtime, running: Running, gone?: AbortSignal): SessionActs {
  const signal = joinSignals(running, gone)
  const sender: Sender = { kind: 'turn', running }
  /**
   * Follows from the turn and the step, so that a turn that runs again has one effect; and as short as any
   * id, however long a chain of messages is.
   */
  const deriveId = (key: string): string => fingerprint(`${running.row.id}\n${key}`)
  return {
    send: (to, text, key) => sendTo(runtime, sender, to, text, deriveId(key)),
    spawn: (request, key) => spawn(runtime, sender, running.session, request, deriveId(key)),
    state: (session) => stateNamed(runtime, session),
    waitForSession: (session, timeoutMs) => waitAsTurn(runtime, running, session, timeoutMs, signal),
    ...createMailActs(
      runtime,
      running.session,
      { sender, session: running.session, trace: null, cwd: running.session.cwd },
      { session: running.row.session, running, address: null },
      deriveId,
      signal,
    ),
  }
}

export async function sendTo(
  runtime: Runtime,
  sender: Sender,
  to: string,
  text: string,
  id: string | null,
): ReturnType<Acts['send']> {
  const target = to.trim() === '' ? refuseEmpty(to) : await findReceiver(runtime, to)
  if (isRefusal(target)) return target
  if (mustDraft(runtime, sender, target.id)) return draftTo(runtime, sender, target.id, text, id)
  const sent = await post(runtime, {
    to: { session: target.id },
    text,
    sender,
    inbox: 'auto',
    id: id === null ? null : `msg_${id}`,
  })
  return isRefusal(sent) ? sent : { messageId: sent.message, status: sent.status, sessionId: sent.session }
}

/** Kept as a draft, until a person releases it. */
export async function draftTo(
  runtime: Runtime,
  sender: Sender,
  to: SessionId,
  text: string,
  act: string | null,
): Promise<{ messageId: string; status: 'draft'; sessionId: SessionId } | Refusal> {
  const writer = { sender, session: null, act, trace: null, cwd: '/' }
  const kept = await sendMail(runtime, writer, { session: to, message: text, draft: true })
  return isRefusal(kept) ? kept : { messageId: kept.id, status: 'draft', sessionId: to }
}

/**
 * A spawned session belongs to whoever made it, and works in any directory that is named, relative to its
 * maker's. Its first message passes the same rules as any other.
 */
export async function spawn(
  runtime: Runtime,
  sender: Sender,
  parent: SessionRow,
  request: SpawnRequest,
  id: string | null,
): ReturnType<Acts['spawn']> {
  const cwd = resolve(parent.cwd, request.cwd)
  const unusable = refuseDirectory(cwd, request.cwd)
  if (unusable !== null) return unusable
  // Whoever spawns names an agent of its own project, wherever that is to work.
  const { agents } = inProject(runtime, parent.cwd)
  const { agent: name } = request
  const agent = name === null ? agents.get(parent.agent) : resolveAgent(agents, name)
  if (agent === undefined) return refuseAgent(agents, name ?? parent.agent)
  const spelled = agents.spell?.(agent.name, cwd) ?? agent.name
  const to = { agent: spelled, calledAs: agent.name, cwd, model: request.model, parent: parent.id }
  const drafts = mustDraft(runtime, sender, null)
  if (request.initialMessage === null || drafts) {
    const row = await createSession(runtime, to, sender, id)
    if (isRefusal(row)) return row
    const text = request.initialMessage
    const kept = text === null ? null : await draftTo(runtime, sender, row.id, text, id)
    if (kept !== null && isRefusal(kept)) return kept
    return { sessionId: row.id, cwd: row.cwd, agent: row.agent, messageId: kept?.messageId ?? null }
  }
  const sent = await send(runtime, {
    to,
    text: request.initialMessage,
    sender,
    id: id === null ? null : `msg_${id}`,
  })
  return isRefusal(sent) ? sent : { sessionId: sent.session, cwd, agent: spelled, messageId: sent.message }
}

/** Required ids are checked here, with words: models drop short arguments next to long text. */
const refuseEmpty = (id: string): Refusal => badInput('sessionId', id, 'the id of a session ("ses_…")')

export async function stateNamed(runtime: Runtime, id: string): Promise<SessionState | Refusal> {
  const row = id.trim() === '' ? refuseEmpty(id) : await findSession(runtime, id)
  return isRefusal(row) ? row : readState(runtime, row.id)
}

/**
 * R5: a wait is an edge like a call's. One that would close a ring is not begun: the present state is the
 * answer.
 */
async function waitAsTurn(
  runtime: Runtime,
  running: Running,
  id: string,
  timeoutMs: number,
  signal: AbortSignal,
): ReturnType<Acts['waitForSession']> {
  const state = await stateNamed(runtime, id)
  if (isRefusal(state) || isResting(state)) return state
  const target = state.sessionId
  if (target === running.row.session) return { code: 'self_call', agent: running.agent.name }
  const end = runtime.clock.elapsed() + Math.min(timeoutMs, timeLeft(runtime, running))
  const ring = await beginWait(runtime, running, target, end)
  if (ring !== null) return { ...state, ring }
  try {
    return await untilResting(runtime, target, end - runtime.clock.elapsed(), signal)
  } finally {
    const rests = signal.aborted ? 'it broke off' : 'the session rests'
    await endWait(runtime, running, target, runtime.clock.elapsed() >= end ? 'time is over' : rests)
  }
}

/**
 * The path of waits that this one would close to a ring; null where it has begun. `end` is elapsed time; others
 * read it on the wall clock.
 */
export async function beginWait(
  runtime: Runtime,
  running: Running,
  target: SessionId,
  end: number,
): Promise<string[] | null> {
  const until = Math.ceil(runtime.clock.now() + (end - runtime.clock.elapsed()))
  running.waits.set(target, (running.waits.get(target) ?? 0) + 1)
  const ring = await decideWait(runtime, running, target, until).catch((fault: unknown) => {
    oneLess(running, target)
    throw fault
  })
  if (ring !== null) oneLess(running, target)
  return ring
}

/** How many are left. */
function oneLess({ waits }: Running, target: SessionId): number {
  const left = (waits.get(target) ?? 1) - 1
  if (left > 0) waits.set(target, left)
  else waits.delete(target)
  return left
}

/** The last one ends the edge, at once: one that is over would refuse others for nothing. */
export async function endWait(
  runtime: Runtime,
  running: Running,
  target: SessionId,
  reason: string,
): Promise<void> {
  if (oneLess(running, target) > 0) return
  running.buffer.push({
    type: 'wait.ended',
    session: running.row.session,
    turn: running.row.id,
    target,
    reason,
  })
  if (!running.abort.signal.aborted) await flush(runtime, running)
}

async function decideWait(
  runtime: Runtime,
  running: Running,
  target: SessionId,
  until: number,
): Promise<string[] | null> {
  const keys: Key[] = [
    `session:${running.row.session}`,
    `flow:${running.row.flow}`,
    `call:call_${running.row.id.slice(5)}`,
    `session:${target}`,
  ]
  return commit(runtime, running, keys, async (tx, buffered) => {
    const facts = await tx.open({
      call: `call_${running.row.id.slice(5)}`,
      callerTurn: running.row.id,
      target,
    })
    assertOurs(facts?.caller.turn, running, runtime)
    const path = facts?.target?.waitPath ?? null
    tx.append(
      ...buffered,
      ...(path !== null
        ? []
        : [
            {
              type: 'wait.started' as const,
              session: running.row.session,
              turn: running.row.id,
              target,
              until,
            },
          ]),
    )
    const self = { agent: running.agent.name, session: running.row.session }
    return path === null ? null : [self, ...path].map(({ agent, session }) => `${agent} (${session})`)
  })
}
