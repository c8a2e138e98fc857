import type { MessageRecord } from '../../../src/wire/mail.ts'
import type { Session } from '../../../src/wire/sessions.ts'
import type { MessageSource, Outcome, SessionKind } from '../../../src/model/event.ts'
import type { Refusal } from '../../../src/model/refusal.ts'
import type { Json } from '../../../src/model/json.ts'

export type SessionFact = Omit<Session, 'status' | 'active' | 'id' | 'parent'> & {
  id: string
  parent: string | null
  /** As the server said, or as the last turn left it; a turn that runs goes before it. */
  resting: Session['status']
  liveTurns: Set<string>
  /** Whom its turns wait for now: calls, and sessions. */
  waitsFor: Set<string>
  /** Every turn that the page knows of. */
  turnIds: Set<string>
  tokens: number
  turns: number
  forkedFrom: string | null
  /** A list of the server had it. */
  isListed: boolean
}

export type TurnFact = {
  id: string
  session: string
  agent: string
  flow: string | null
  /** The call that it serves; null where a message started it. */
  call: string | null
  text: string
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
  /** What it added to its session's conversation. */
  entryTokens: number
  /** Of its own steps so far, by model. */
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
  /** The server's `updated_at`: what a person has read, and releases. */
  version: string
  /** A person sent it for the session that wrote it. */
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
  /** What people call agents that were made by API, whose names are ids. */
  agentNames: Map<string, string>
}

export const emptyLedger = (): Ledger => ({
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
})

export function sessionOf(ledger: Ledger, id: string, at: number): SessionFact {
  const known = ledger.sessions.get(id)
  if (known !== undefined) return known
  // Nobody has said anything about it yet: its events came before the part of the log that was read.
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
    archived: false,
    createdAt: at,
    updatedAt: at,
    buffered: 0,
    resting: 'idle',
    liveTurns: new Set(),
    waitsFor: new Set(),
    turnIds: new Set(),
    tokens: 0,
    turns: 0,
    forkedFrom: null,
    isListed: false,
  }
  ledger.sessions.set(id, fact)
  return fact
}

/** Takes what a list of the server says about a session; what the page has counted itself stays. */
export function takeSession(ledger: Ledger, listed: Session): SessionFact {
  const { status, active, ...rest } = listed
  const known = ledger.sessions.get(listed.id)
  const fact: SessionFact = {
    ...rest,
    resting: active ? 'streaming' : status,
    liveTurns: known?.liveTurns ?? new Set(),
    waitsFor: known?.waitsFor ?? new Set(),
    turnIds: known?.turnIds ?? new Set(),
    tokens: known?.tokens ?? 0,
    turns: known?.turns ?? 0,
    forkedFrom: known?.forkedFrom ?? null,
    isListed: true,
    updatedAt: Math.max(rest.updatedAt, known?.updatedAt ?? 0),
  }
  ledger.sessions.set(listed.id, fact)
  return fact
}

/** An agent as people call it. */
export const called = ({ agentNames }: Pick<Ledger, 'agentNames'>, agent: string): string =>
  agentNames.get(agent) ?? agent

export const statusOf = (session: SessionFact): Session['status'] =>
  session.kind === 'external' ? 'idle' : session.liveTurns.size > 0 ? 'streaming' : session.resting
export const isActive = (session: SessionFact): boolean => statusOf(session) === 'streaming'

/** What a session that is active is at: why one waits is worth more than that it does. */
export type Activity = 'idle' | 'error' | 'working' | 'waiting' | 'queued' | 'asking'
export function activityOf(ledger: Ledger, session: SessionFact): Activity {
  const status = statusOf(session)
  if (status !== 'streaming') return status
  for (const question of ledger.questions.values()) if (question.session === session.id) return 'asking'
  if (session.waitsFor.size > 0) return 'waiting'
  const turns = [...session.liveTurns].map((id) => ledger.turns.get(id))
  return turns.length > 0 && turns.every((turn) => turn?.startedAt === null) ? 'queued' : 'working'
}

/** What people call a session: its title, or whose it is. */
export const nameOf = (session: SessionFact): string =>
  session.title !== ''
    ? session.title
    : session.agentName !== ''
      ? session.agentName
      : session.agent !== ''
        ? session.agent
        : session.id
export const agentNameOf = (session: SessionFact): string =>
  session.agentName !== '' ? session.agentName : session.agent

export const tokensOf = (turn: TurnFact): number => {
  let sum = 0
  for (const { input, output } of turn.usage.values()) sum += input + output
  return sum
}

export const flowTokens = (ledger: Ledger, flow: FlowFact): number => {
  let sum = 0
  for (const id of flow.turns) {
    const turn = ledger.turns.get(id)
    if (turn !== undefined) sum += tokensOf(turn)
  }
  return sum
}
