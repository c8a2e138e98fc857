/** Events for tests of stores, with every field filled in, and a clock that moves only when told. */
import { fullAuthority } from '../../src/model/authority.ts'
import type { EventOf, Grant, Outcome, Usage } from '../../src/model/event.ts'
import type { CallId, FlowId, NodeId, SessionId, TurnId } from '../../src/model/id.ts'
import type { Key, Store, Tx } from '../../src/runtime/kernel/store-port.ts'
export const node: NodeId = 'node_1'
export const flow: FlowId = 'flow_1'
export const farAway = 1_000_000_000

export type TestClock = { now: () => number; set: (at: number) => void }
export function testClock(start = 1_000_000): TestClock {
  let at = start
  return { now: () => at, set: (next) => void (at = next) }
}

export const grantOf = (agent: string, more: Partial<Grant> = {}): Grant => ({
  agent,
  depth: 0,
  subagentDepth: 0,
  path: [],
  authority: fullAuthority,
  tokensMax: null,
  maxIterations: 16,
  ...more,
})

export const created = (
  session: SessionId,
  kind: 'ephemeral' | 'persistent' | 'external' = 'persistent',
  agent = session.slice(4),
): EventOf<'session.created'> => ({
  type: 'session.created',
  session,
  turn: null,
  agent,
  kind,
  parent: null,
  cwd: '/tmp',
  title: '',
  model: null,
  flow: null,
})

export const sent = (
  session: SessionId,
  turn: TurnId,
  more: Partial<Pick<EventOf<'message.sent'>, 'text' | 'flow' | 'grant'>> = {},
): EventOf<'message.sent'> => ({
  type: 'message.sent',
  session,
  turn,
  message: `msg_${turn}`,
  flow,
  from: null,
  senderTurn: null,
  source: 'user',
  applet: null,
  inReplyTo: null,
  text: 'hello',
  tokens: 1,
  deadline: null,
  trace: null,
  grant: grantOf(session.slice(4)),
  ...more,
})

/** A message that waits in an inbox. */
export const mailed = (
  from: SessionId,
  session: SessionId,
  message: string,
  more: Partial<EventOf<'message.sent'>> = {},
): EventOf<'message.sent'> => ({
  ...sent(session, 'turn_none'),
  turn: null,
  message,
  from,
  source: 'agent',
  text: `mail of ${message}`,
  ...more,
})

export const started = (
  session: SessionId,
  turn: TurnId,
  more: Partial<Pick<EventOf<'turn.started'>, 'node' | 'epoch' | 'deadline'>> = {},
): EventOf<'turn.started'> => ({
  type: 'turn.started',
  session,
  turn,
  node,
  epoch: 1,
  deadline: farAway,
  ...more,
})

export const cancelled = (
  session: SessionId,
  turn: TurnId,
  outcome: Outcome = 'cancelled',
): EventOf<'turn.cancelled'> => ({ type: 'turn.cancelled', session, turn, outcome, cause: 'asked' })

export type Said = NonNullable<EventOf<'turn.ended'>['entry']>
export const said = (n: number, asked: string, answered: string, more: Partial<Said> = {}): Said => ({
  n,
  asked,
  askedTokens: 1,
  from: null,
  startedAt: n,
  answered,
  answeredTokens: 1,
  ...more,
})

export const ended = (
  session: SessionId,
  turn: TurnId,
  tokensUsed = 0,
  entry: Said | null = null,
  toolCalls: string[] = [],
): EventOf<'turn.ended'> => ({
  type: 'turn.ended',
  session,
  turn,
  outcome: 'completed',
  output: 'done',
  error: null,
  tokensUsed,
  tokensBelow: 0,
  iterations: 1,
  toolCalls,
  entry,
})

const manifest = { tokensMax: 4000, tokens: 1, parts: {}, messages: null, summary: null, workspace: null }

export type Opening = {
  from: SessionId
  in: TurnId
  call: CallId
  to: SessionId
  tokens?: number | null
  background?: boolean
  deadline?: number
  flow?: FlowId
}
export const opened = ({
  from,
  in: turn,
  call,
  to,
  tokens = null,
  background = false,
  deadline = farAway,
  flow: of = flow,
}: Opening): EventOf<'call.opened'> => ({
  type: 'call.opened',
  session: from,
  turn,
  call,
  key: `key-${call}`,
  flow: of,
  target: to,
  tool: 'sub_agent',
  task: 'do',
  taskHash: 'h',
  input: null,
  background,
  outputSchema: null,
  requested: {},
  deadline,
  grant: grantOf(to.slice(4), { depth: 1, tokensMax: tokens }),
  context: manifest,
  attachment: null,
})

export const refused = (session: SessionId, turn: TurnId, call: CallId): EventOf<'call.refused'> => ({
  type: 'call.refused',
  session,
  turn,
  call,
  key: `key-${call}`,
  tool: 'sub_agent',
  agent: 'x',
  task: 'do',
  taskHash: 'h',
  requested: {},
  refusal: { code: 'self_call', agent: 'x' },
})

export const callEnded = (
  from: SessionId,
  turn: TurnId,
  call: CallId,
  to: SessionId,
  outcome: Outcome = 'completed',
): EventOf<'call.ended'> => ({
  type: 'call.ended',
  session: from,
  turn,
  call,
  target: to,
  outcome,
  output: '',
  outputBytes: 0,
  truncated: false,
  errors: [],
  toolCalls: [],
  tokensUsed: 0,
  iterations: 0,
  openedAt: 0,
  endedAt: 0,
  cause: 'answered',
})

export const stepped = (
  session: SessionId,
  turn: TurnId,
  usage: Usage | null,
  kind: 'model' | 'tool' = 'model',
): EventOf<'step.ended'> => ({
  type: 'step.ended',
  session,
  turn,
  kind,
  name: kind,
  key: 'k',
  input: null,
  ok: true,
  output: 'x',
  usage,
  startedAt: 0,
})

export const summarised = (
  session: SessionId,
  turn: TurnId,
  text: string,
  entries: number,
): EventOf<'step.ended'> => ({
  type: 'step.ended',
  session,
  turn,
  kind: 'summary',
  name: 'summary',
  key: 'k',
  input: null,
  ok: true,
  output: { text, entries },
  usage: null,
  startedAt: 0,
})

export const waited = (session: SessionId, turn: TurnId, target: SessionId): EventOf<'wait.started'> => ({
  type: 'wait.started',
  session,
  turn,
  target,
  until: farAway,
})
export const rested = (session: SessionId, turn: TurnId, target: SessionId): EventOf<'wait.ended'> => ({
  type: 'wait.ended',
  session,
  turn,
  target,
  reason: 'ended',
})

export const keysOf = (...sessions: readonly SessionId[]): Key[] =>
  sessions.map((session): Key => `session:${session}`)

/** Appends under all the keys that the events need. */
export function append(store: Store, ...events: Parameters<Tx['append']>): Promise<void> {
  return store.transact(keysOf(...new Set(events.map((event) => event.session))), async (tx) =>
    tx.append(...events),
  )
}

/** A session with one running turn of a message: `ses_a` runs `turn_a`. */
export const running = (name: string, more: Parameters<typeof sent>[2] = {}): Parameters<Tx['append']> => [
  created(`ses_${name}`),
  sent(`ses_${name}`, `turn_${name}`, more),
  started(`ses_${name}`, `turn_${name}`),
]
