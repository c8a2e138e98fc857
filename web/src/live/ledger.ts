import type { MessageRecord } from '../../../src/wire/mail.ts'
import type { Session } from '../../../src/wire/sessions.ts'
import type { MessageSource, Outcome, SessionKind } from '../../../src/model/event.ts'
import type { Refusal } from '../../../src/model/refusal.ts'
import type { Json } from '../../../src/model/json.ts'

export type SessionFact = Omit<Session, 'status' | 'active' | 'id' | 'parent'> & {
  id: string
  parent: string | null
  /** The status between turns, from the server or the last turn. */
  resting: Session['status']
  liveTurns: Set<string>
  /** The calls and sessions that its turns wait for. */
  waitsFor: Set<string>
  /** Every turn that the page knows. */
  turnIds: Set<string>
  turns: number
  forkedFrom: string | null
  /** Whether it was in a list of the server. */
  isListed: boolean
}

export type TurnFact = {
  id: string
  session: string
  agent: string
  flow: string | null
  /** The call that it serves; null if a message started it. */
  call: string | null
  text: string
  /** A client's own turn: what it asked for decides how it ended. */
  isUse: boolean
  /** A client only looked something up with it. */
  isLook: boolean
  /** How it ended for the one who asked, where that is not its outcome. */
  shown: Outcome | null
  source: MessageSource
  from: string | null
  applet: string | null
  message: string | null
  openedAt: number
  openedSeq: number
  startedAt: number | null
  deadline: number | null
  endedAt: number | null
  endedSeq: number | null
  stopping: boolean
  outcome: Outcome | null
  error: string | null
  hasEntry: boolean
  /** The tokens it added to the conversation of its session. */
  entryTokens: number
  /** The usage of its own steps so far, by model. */
  usage: Map<string, { input: number; output: number; estimated: boolean }>
  tokensMax: number | null
  depth: number
}

export type CallFact = {
  id: string
  flow: string | null
  tool: string
  callerSession: string
  callerTurn: string | null
  callerAgent: string
  target: string | null
  agent: string
  task: string
  background: boolean
  openedAt: number
  openedSeq: number
  deadline: number | null
  endedAt: number | null
  outcome: Outcome | null
  error: string | null
  tokensUsed: number
  contextTokens: number | null
  path: string[]
  refusal: Refusal | null
}

export type FlowFact = {
  id: string
  turn: string
  session: string
  agent: string
  text: string
  source: MessageSource
  openedAt: number
  firstSeq: number
  lastSeq: number
  turns: Set<string>
  calls: Set<string>
}
export type QuestionFact = {
  id: string
  session: string
  turn: string
  flow: string
  agent: string
  tool: string
  input: Json
  path: string[]
  askedAt: number
  deadline: number
}
export type NoticeFact = { seq: number; at: number; session: string; about: string; text: string }
export type RefusedFact = {
  seq: number
  at: number
  call: string
  session: string
  agent: string
  callerAgent: string
  tool: string
  task: string
  refusal: Refusal
}

export type MailFact = {
  id: string
  status: MessageRecord['status']
  /** Whose draft it is or was. */
  owner: string
  from: string | null
  to: string | null
  target: string
  inReplyTo: string | null
  source: MessageSource
  applet: string | null
  initial: string
  text: string
  createdAt: number
  updatedAt: number
  by: string | null
  cause: string
  revisions: number
  /** The `updated_at` of the server: the version that a person has read. */
  version: string
  /** Whether a person released it. */
  isReleased: boolean
  seq: number
}

export type Ledger = {
  sessions: Map<string, SessionFact>
  turns: Map<string, TurnFact>
  calls: Map<string, CallFact>
  flows: Map<string, FlowFact>
  questions: Map<string, QuestionFact>
  answered: Set<string>
  notices: NoticeFact[]
  refused: RefusedFact[]
  mail: Map<string, MailFact>
  /** The names of agents that were made by API, whose ids are not readable. */
  agentNames: Map<string, string>
  /** Until when no session is told of mail; 0 where all are. */
  quietUntil: number
}

export const createLedger = (): Ledger => ({
  sessions: new Map(),
  turns: new Map(),
  calls: new Map(),
  flows: new Map(),
  questions: new Map(),
  answered: new Set(),
  notices: [],
  refused: [],
  mail: new Map(),
  agentNames: new Map(),
  quietUntil: 0,
})

export function ensureSession(ledger: Ledger, id: string, at: number): SessionFact {
  const known = ledger.sessions.get(id)
  if (known !== undefined) return known
  // Its creation may be in a part of the log that was not read.
  const fact: SessionFact = {
    id,
    agent: '',
    agentName: '',
    title: '',
    cwd: '',
    model: null,
    kind: 'ephemeral' satisfies SessionKind,
    parent: null,
    orphan: false,
    away: false,
    presence: null,
    wakeable: false,
    quietUntil: null,
    archived: false,
    createdAt: at,
    updatedAt: at,
    buffered: 0,
    resting: 'idle',
    liveTurns: new Set(),
    waitsFor: new Set(),
    turnIds: new Set(),
    tokensUsed: 0,
    cost: { usd: 0, planUsd: 0, unpricedTokens: 0 },
    turns: 0,
    forkedFrom: null,
    isListed: false,
  }
  ledger.sessions.set(id, fact)
  return fact
}

/** Updates a session from a list of the server, and keeps what the page has counted itself. */
export function takeSession(ledger: Ledger, listed: Session): SessionFact {
  const { status, active, ...rest } = listed
  const known = ledger.sessions.get(listed.id)
  const fact: SessionFact = {
    ...rest,
    resting: active ? 'streaming' : status,
    liveTurns: known?.liveTurns ?? new Set(),
    waitsFor: known?.waitsFor ?? new Set(),
    turnIds: known?.turnIds ?? new Set(),
    turns: known?.turns ?? 0,
    forkedFrom: known?.forkedFrom ?? null,
    isListed: true,
    updatedAt: Math.max(rest.updatedAt, known?.updatedAt ?? 0),
  }
  ledger.sessions.set(listed.id, fact)
  return fact
}

/** The name of an agent for people. */
export const nameAgent = ({ agentNames }: Pick<Ledger, 'agentNames'>, agent: string): string =>
  agentNames.get(agent) ?? agent

export const getStatus = (session: SessionFact): Session['status'] =>
  session.kind === 'external' ? 'idle' : session.liveTurns.size > 0 ? 'streaming' : session.resting
export const isActive = (session: SessionFact): boolean => getStatus(session) === 'streaming'

export const nameSessionAgent = (session: SessionFact): string =>
  session.agentName !== '' ? session.agentName : session.agent

export const sumTokens = (turn: TurnFact): number => {
  let sum = 0
  for (const { input, output } of turn.usage.values()) sum += input + output
  return sum
}

export const sumFlowTokens = (ledger: Ledger, flow: FlowFact): number => {
  let sum = 0
  for (const id of flow.turns) {
    const turn = ledger.turns.get(id)
    if (turn !== undefined) sum += sumTokens(turn)
  }
  return sum
}
