/** Turns of the ledger, and the flows they belong to. */
import { takeFirstLine } from '../format.ts'
import { ensureSession, nameAgent, type FlowFact, type Ledger, type TurnFact } from './ledger.ts'
import type { Moment, Touch } from './moment.ts'

const textMax = 300

/** The ledger keeps what a list shows; the whole text is in the details of a turn. */
export const shortenText = (text: string): string => takeFirstLine(text, textMax)

export function ensureTurn(ledger: Ledger, id: string, session: string, { at, seq }: Moment): TurnFact {
  const known = ledger.turns.get(id)
  if (known !== undefined) return known
  const turn: TurnFact = {
    id,
    session,
    agent: nameAgent(ledger, ledger.sessions.get(session)?.agent ?? ''),
    flow: null,
    call: null,
    text: '',
    isUse: false,
    isLook: false,
    shown: null,
    source: 'user',
    from: null,
    applet: null,
    message: null,
    openedAt: at,
    openedSeq: seq,
    startedAt: null,
    deadline: null,
    endedAt: null,
    endedSeq: null,
    stopping: false,
    outcome: null,
    error: null,
    hasEntry: false,
    entryTokens: 0,
    usage: new Map(),
    tokensMax: null,
    depth: 0,
  }
  ledger.turns.set(id, turn)
  ensureSession(ledger, session, at).turnIds.add(id)
  return turn
}

/** The input of a turn is known: it runs, or waits in the queue of its session. */
export function openTurn(ledger: Ledger, turn: TurnFact, moment: Moment, touch: Touch): void {
  if (turn.endedAt === null) ensureSession(ledger, turn.session, moment.at).liveTurns.add(turn.id)
  joinFlow(ledger, turn, moment.seq, touch)
  touch('sessions')
}

function joinFlow(ledger: Ledger, turn: TurnFact, seq: number, touch: Touch): void {
  if (turn.flow === null) return
  const { id, session, agent, text, source, openedAt, openedSeq } = turn
  const root: Partial<FlowFact> = { turn: id, session, agent, text, source, openedAt, firstSeq: seq }
  const flow = ledger.flows.get(turn.flow)
  if (flow === undefined) {
    const made = { ...root, id: turn.flow, lastSeq: seq, turns: new Set([id]), calls: new Set() }
    ledger.flows.set(turn.flow, made as FlowFact)
    touch('flows')
    return
  }
  flow.turns.add(id)
  // The log may be read from the middle: the earliest turn is the root.
  if (openedSeq < flow.firstSeq) Object.assign(flow, root)
}
