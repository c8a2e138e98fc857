/**
 * What a client outside does through a door: a turn of its own session, with the client in place of a driver.
 * So its calls have a caller, a place in a flow, a deadline and a record like anybody's; external sessions
 * may have several such turns at once, since nobody activates them.
 *
 * A session that a connected program runs has one turn at a time (R6), and what its own user makes it do
 * between those is none of ours. Its calls between turns stand in an external session below it,
 * which takes no part in its queue; they are on its path, so that nobody whom it waits for can call it, and
 * it waits for that session meanwhile, so that no ring closes across roots (R5).
 */
import { externalAgent } from '../../model/agent.ts'
import { grantMoney, leastMoney } from '../../model/money-budget.ts'
import { fullAuthority } from '../../model/authority.ts'
import type { ToolAsk } from '../../model/event.ts'
import type { SessionRow } from '../../model/facts.ts'
import { type FlowId, type SessionId, type TurnId, callsBelow } from '../../model/id.ts'
import { type Json } from '../../model/json.ts'
import { type Refusal, isRefusal } from '../../model/refusal.ts'
import { countGently } from '../../model/text.ts'
import { clientMsMax } from '../../model/time-limits.ts'
import { listCallable } from '../turns/callable.ts'
import { type OpenedTurn, openTurn, sentEvent, startedEvent } from '../kernel/commit.ts'
import type { Runtime } from './runtime.ts'
import type { Driver, ToolAnswer } from '../kernel/ports.ts'
import { createSession } from './sessions.ts'
import { readState } from '../look/state.ts'
import type { SessionState } from '../../wire/sessions.ts'
import { type Client } from './actor.ts'
import { clientDriver, doAsked, type Work } from './client-driver.ts'
import { answerAgain, describeAsk, endOfTurn, untilGone, untilUnrecorded } from './client-answer.ts'

export type ToolUse = {
  /** Aborts when the client has gone: what it asked for is cancelled. */
  signal: AbortSignal
  id: string | null
  trace: string | null
}

async function callingSession(runtime: Runtime, { session }: Client): Promise<SessionRow> {
  const id = session.kind === 'external' ? session.id : callsBelow(session.id)
  const known = id === session.id ? session : await runtime.store.session(id)
  if (known !== null) return known
  const made = await createSession(
    runtime,
    { agent: externalAgent.name, cwd: session.cwd, title: '', parent: session.id },
    { kind: 'user' },
    id.slice(4),
  )
  if (isRefusal(made))
    throw new Error(`the session for the calls of ${session.id} could not be made: ${made.code}`)
  return made
}

/**
 * Does one thing as a turn of the client's session. With an id that was used before, the answer of the first
 * try. `no`: the gate refused it, which is recorded in the turn.
 */
export const actInOwnTurn = (
  runtime: Runtime,
  client: Client,
  asked: ToolAsk,
  use: ToolUse,
  no: Refusal | null,
): Promise<ToolAnswer | Refusal> =>
  inOwnTurn(runtime, client, asked, use, (running) => doAsked(runtime, running, asked, { no }))

/**
 * A session that a connected program runs waits like anybody whom others may wait for: in a turn, so that it
 * is an edge (R5).
 */
export async function waitInOwnTurn(
  runtime: Runtime,
  client: Client,
  target: SessionId,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<SessionState | Refusal> {
  const asked = { tool: 'wait_for_session', input: { sessionId: target, timeoutMs } }
  const answer = await inOwnTurn(
    runtime,
    client,
    asked,
    { signal, id: null, trace: null },
    async ({ acts }) => ({ ok: true, value: (await acts.waitForSession(target, timeoutMs)) as Json }),
    false,
  )
  return isRefusal(answer) || !answer.ok
    ? readState(runtime, target)
    : (answer.value as SessionState | Refusal)
}

/**
 * What a client does, as a turn of its session: `work` is done in place of a driver. What was asked for is
 * recorded, so that the turn goes on
 * after a crash, unless it is of no use to anybody then (`goesOn`).
 */
async function inOwnTurn(
  runtime: Runtime,
  client: Client,
  asked: ToolAsk,
  use: ToolUse,
  work: Work,
  goesOn = true,
): Promise<ToolAnswer | Refusal> {
  const session = await callingSession(runtime, client)
  const suffix = use.id ?? runtime.ids.next()
  const turn: TurnId = `turn_${suffix}`
  let said: ToolAnswer | null = null
  const begun = Promise.withResolvers<ToolAnswer>()
  const driver = clientDriver(runtime, work, { begun: begun.resolve, said: (answer) => (said = answer) })
  const unrecorded = untilUnrecorded(runtime, turn)
  try {
    const opened = await openTurn(runtime, turn, session.id, () =>
      open(runtime, client, session, { asked, goesOn, suffix, use, driver }),
    )
    if (opened === 'known') return await answerAgain(runtime, turn, asked, use.signal, unrecorded.fault)
    return await untilGone(
      runtime,
      turn,
      use.signal,
      Promise.race([begun.promise, endOfTurn(runtime, turn, asked, () => said), unrecorded.fault]),
    )
  } finally {
    unrecorded.forget()
    // The driver was taken when the turn began.
    if (runtime.clients.get(turn) === driver) runtime.clients.delete(turn)
  }
}

type Opening = { asked: ToolAsk; goesOn: boolean; suffix: string; use: ToolUse; driver: Driver }

async function open(
  runtime: Runtime,
  client: Client,
  session: SessionRow,
  { asked, goesOn, suffix, use, driver }: Opening,
): Promise<OpenedTurn | 'known'> {
  const turn: TurnId = `turn_${suffix}`
  const flow: FlowId = `flow_${suffix}`
  const text = describeAsk(asked)
  const tokens = await countGently(runtime.count, text)
  const isBelow = session.id !== client.session.id
  const opened = await runtime.store.transact(
    [`session:${session.id}`, `flow:${flow}`, ...(isBelow ? [`session:${client.session.id}` as const] : [])],
    async (tx) => {
      if (use.id !== null && (await tx.turn(turn)) !== null) return 'known'
      const input = sentEvent({
        session: session.id,
        turn,
        message: `msg_${suffix}`,
        flow,
        text,
        tokens,
        trace: use.trace,
        grant: {
          agent: client.agent.name,
          depth: 0,
          subagentDepth: 0,
          path: [{ session: client.session.id, agent: client.agent.name }],
          authority: fullAuthority,
          tokensMax: runtime.limits.flowTokensMax ?? null,
          ...grantMoney(leastMoney(runtime.limits.flowUsdMax)),
          maxIterations: 1,
        },
        ...(goesOn ? { use: asked } : {}),
      })
      const msMax = clientMsMax(listCallable(runtime, externalAgent), runtime.limits)
      const started = startedEvent(runtime, session.id, turn, tx.now + msMax)
      const waits = { session: client.session.id, turn, target: session.id, until: started.deadline }
      tx.append(input, started, ...(isBelow ? [{ type: 'wait.started' as const, ...waits }] : []))
      return { session, input, started, at: tx.now }
    },
  )
  // Only the try that opened the turn runs it: another one at the same time may have brought something else.
  if (opened !== 'known') runtime.clients.set(turn, driver)
  return opened
}
