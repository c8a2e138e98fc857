/**
 * Expands what a message says: a turn on a fork of its sender, which knows the conversation that the receiver
 * does not, and what the sender's running turn was asked and has found. It has no tools, runs once, and is of
 * the sender's flow and budget.
 * Where no model can do it, the text stays as it was, and why is recorded with it.
 */
import type { Grant } from '../../model/event.ts'
import type { Activation, SessionRow } from '../../model/facts.ts'
import { fingerprint } from '../../model/fingerprint.ts'
import { frameDraft, frameUnder, type Boundary } from '../../model/frame.ts'
import type { SessionId, TurnId } from '../../model/id.ts'
import { grantMoney, moneyLeft } from '../../model/money-budget.ts'
import { countGently } from '../../model/text.ts'
import { untilEnded } from '../turns/turn-ending.ts'
import { assertOurs, commit, type OpenedTurn, openTurn, sentEvent, startedEvent } from '../kernel/commit.ts'
import { Stopped } from '../kernel/faults.ts'
import { deadlineNow } from '../kernel/kept-time.ts'
import { createdEvent, newSession } from '../kernel/new-session.ts'
import type { Runtime } from '../turns/runtime.ts'
import type { Writer } from './mail.ts'
import { describeTurnSoFar } from './turn-so-far.ts'
import type { Running } from '../kernel/running.ts'

export type Expanding = {
  text: string
  /** Null to expand it for the first time. */
  instructions: string | null
}
export type Expanded = { text: string; /** Why it is still what it was. */ note: string | null }

export const elaborateApplet = 'elaborate'

/**
 * `suffix` is the message's; the act is part of the turn's id, so that the same act again finds what it has
 * begun.
 */
export async function elaborate(
  runtime: Runtime,
  { sender, act }: Writer,
  suffix: string,
  expanding: Expanding,
): Promise<Expanded> {
  if (sender.kind !== 'turn')
    return { text: expanding.text, note: 'no model: whoever wrote it is not run here' }
  const { running } = sender
  if (!hasModel(running)) return { text: expanding.text, note: `no model: ${running.agent.name} has none` }
  // Never the message's own id, which its sender may have chosen: it could be that of a session.
  const name = fingerprint(
    [
      running.row.session,
      suffix,
      act ?? runtime.ids.next(),
      expanding.text,
      expanding.instructions ?? '',
    ].join('\n'),
  )
  const turn: TurnId = `turn_${name}`
  const soFar = await describeTurnSoFar(runtime, running)
  await openTurn(runtime, turn, `ses_${name}`, () =>
    begin(runtime, running, name, renderPrompt(expanding, soFar, runtime.ids.boundary())),
  )
  const ended = await untilEnded(runtime, turn, running.abort.signal, 'the message is no longer written')
  const text = ended.output.trim()
  return ended.outcome === 'completed' && text !== ''
    ? { text, note: null }
    : { text: expanding.text, note: ended.error ?? ended.outcome }
}

/** A script that stands in for a model says so by naming one. */
const hasModel = ({ agent }: Running): boolean =>
  agent.driver === 'model' ||
  (agent.model !== undefined && (agent.driver === 'scripted' || agent.driver === 'own'))

const renderPrompt = ({ text, instructions }: Expanding, soFar: string, boundary: Boundary): string =>
  [
    frameUnder(boundary, 'What you were asked and have done since, in the turn that writes this:', soFar),
    instructions === null
      ? 'Write out the message below for a reader who does not know this conversation: say what is ' +
        'wanted, and give the facts, paths and decisions from above that it needs.'
      : `Change the message below as these instructions say:\n${frameUnder(boundary, 'Instructions:', instructions)}`,
    'Answer with nothing but the text of the message.',
    frameDraft(boundary, text),
  ].join('\n')

async function begin(
  runtime: Runtime,
  running: Running,
  name: string,
  text: string,
): Promise<OpenedTurn | 'known'> {
  const turn: TurnId = `turn_${name}`
  const session: SessionId = `ses_${name}`
  const { row, session: own } = running
  const tokens = await countGently(runtime.count, text)
  return commit(
    runtime,
    running,
    [`session:${own.id}`, `session:${session}`, `flow:${row.flow}`],
    async (tx, buffered) => {
      const taken = assertOurs(await tx.activation(row.id), running, runtime)
      if (taken.stopping !== null) throw new Stopped(taken.stopping)
      if ((await tx.turn(turn)) !== null) {
        tx.append(...buffered)
        return 'known'
      }
      const forked: SessionRow = {
        ...newSession(
          { agent: own.agent, cwd: own.cwd, model: own.model, parent: own.id },
          session,
          tx.now,
          'ephemeral',
        ),
        entries: own.entries,
      }
      const sent = sentEvent({
        session,
        turn,
        message: `msg_${name}`,
        flow: row.flow,
        senderTurn: row.id,
        source: 'applet',
        applet: elaborateApplet,
        text,
        tokens,
        grant: limitGrant(running, taken, session),
      })
      const deadline = Math.min(
        tx.now + runtime.limits.subagentTimeoutMs,
        deadlineNow(runtime, row.id, row.deadline),
        row.call === null ? Infinity : deadlineNow(runtime, row.call.id, row.call.deadline),
      )
      const started = startedEvent(runtime, session, turn, deadline)
      tx.append(
        ...buffered,
        createdEvent(forked),
        { type: 'session.forked', session, turn: null, from: own.id, entries: own.entries, back: 0 },
        sent,
        started,
      )
      return { session: forked, input: sent, started, at: tx.now }
    },
  )
}

/** R7: no tool, one answer, and at most half of what is left, in tokens and in money. */
function limitGrant(
  { row, agent, tokensUsed, spent }: Running,
  { tokensBelow, nanoUsdBelow }: Activation,
  session: SessionId,
): Grant {
  const left =
    row.grant.tokensMax === null ? null : Math.max(0, row.grant.tokensMax - tokensUsed - tokensBelow)
  const money = moneyLeft({ grant: row.grant, spent, nanoUsdBelow })
  return {
    agent: agent.name,
    depth: row.grant.depth,
    subagentDepth: row.grant.subagentDepth,
    path: [{ session, agent: agent.name }],
    authority: { tools: [], nested: false },
    tokensMax: left === null ? null : Math.ceil(left / 2),
    ...grantMoney(money === null ? null : Math.ceil(money / 2)),
    maxIterations: 1,
  }
}
