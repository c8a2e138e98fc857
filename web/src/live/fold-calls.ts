/** Events about calls and waits. */
import { ensureSession, nameAgent, type CallFact, type Ledger } from './ledger.ts'
import { addBounded, type Folds, type Moment } from './moment.ts'
import { ensureTurn, openTurn, shortenText } from './turn-facts.ts'

export const callFolds: Folds = {
  'call.opened'(ledger, event, moment, touch) {
    const call = ensureCall(ledger, event.call, event, moment)
    Object.assign(call, {
      flow: event.flow,
      tool: event.tool,
      target: event.target,
      agent: nameAgent(ledger, event.grant.agent),
      task: shortenText(event.task),
      background: event.background,
      openedAt: moment.at,
      openedSeq: moment.seq,
      deadline: event.deadline,
      contextTokens: event.context.tokens,
      path: event.grant.path.map((hop) => nameAgent(ledger, hop.agent)),
      callerAgent: nameAgent(ledger, event.grant.path.at(-2)?.agent ?? call.callerAgent),
    })
    if (call.endedAt === null && !event.background)
      ensureSession(ledger, event.session, moment.at).waitsFor.add(event.call)
    const target = ensureSession(ledger, event.target, moment.at)
    if (target.agent === '') target.agent = event.grant.agent
    if (target.kind === 'ephemeral' && target.parent === null) target.parent = event.session
    const turn = ensureTurn(ledger, `turn_${event.call.slice(5)}`, event.target, moment)
    Object.assign(turn, {
      flow: event.flow,
      call: event.call,
      agent: nameAgent(ledger, event.grant.agent),
      text: shortenText(event.task),
      source: 'agent',
      from: event.session,
      openedAt: moment.at,
      openedSeq: moment.seq,
      tokensMax: event.grant.tokensMax,
      depth: event.grant.depth,
    })
    openTurn(ledger, turn, moment, touch)
    ledger.flows.get(event.flow)?.calls.add(event.call)
    touch('waits')
    touch('calls')
    touch(`session:${event.target}`)
  },
  'call.refused'(ledger, event, moment, touch) {
    const call = ensureCall(ledger, event.call, event, moment)
    const flow = event.turn === null ? null : (ledger.turns.get(event.turn)?.flow ?? null)
    Object.assign(call, {
      tool: event.tool,
      agent: nameAgent(ledger, event.agent),
      task: shortenText(event.task),
      flow,
      openedAt: moment.at,
      endedAt: moment.at,
      outcome: 'refused',
      refusal: event.refusal,
    })
    addBounded(ledger.refused, {
      seq: moment.seq,
      at: moment.at,
      call: event.call,
      session: event.session,
      agent: nameAgent(ledger, event.agent),
      callerAgent: call.callerAgent,
      tool: event.tool,
      task: shortenText(event.task),
      refusal: event.refusal,
    })
    if (flow !== null) ledger.flows.get(flow)?.calls.add(event.call)
    touch('waits')
    touch('calls')
  },
  'call.ended'(ledger, event, moment, touch) {
    const call = ensureCall(ledger, event.call, event, moment)
    Object.assign(call, {
      target: event.target,
      endedAt: event.endedAt,
      openedAt: Math.min(call.openedAt, event.openedAt),
      outcome: event.outcome,
      error: event.errors[0] ?? null,
      tokensUsed: event.tokensUsed,
    })
    ensureSession(ledger, event.session, moment.at).waitsFor.delete(event.call)
    touch('waits')
    touch('calls')
    touch(`session:${event.target}`)
  },
  'wait.started'(ledger, event, { at }, touch) {
    const turn = event.turn === null ? undefined : ledger.turns.get(event.turn)
    if (turn?.endedAt === null) ensureSession(ledger, event.session, at).waitsFor.add(event.target)
    touch('waits')
  },
  'wait.ended'(ledger, event, { at }, touch) {
    ensureSession(ledger, event.session, at).waitsFor.delete(event.target)
    touch('waits')
  },
}

function ensureCall(
  ledger: Ledger,
  id: string,
  event: { session: string; turn: string | null },
  { at, seq }: Moment,
): CallFact {
  const known = ledger.calls.get(id)
  if (known !== undefined) return known
  const call: CallFact = {
    id,
    flow: null,
    tool: '',
    callerSession: event.session,
    callerTurn: event.turn,
    callerAgent: nameAgent(ledger, ledger.sessions.get(event.session)?.agent ?? ''),
    target: null,
    agent: '',
    task: '',
    background: false,
    openedAt: at,
    openedSeq: seq,
    deadline: null,
    endedAt: null,
    outcome: null,
    error: null,
    tokensUsed: 0,
    contextTokens: null,
    path: [],
    refusal: null,
  }
  ledger.calls.set(id, call)
  return call
}
