/** One message of a turn to a resting session, for tests of its rules: what is asked, known, and given. */
import { sessionRow, turnRow } from './calls.ts'
import { Agent } from '../../src/model/agent.ts'
import type { SendFacts, SessionRow } from '../../src/model/facts.ts'
import { limitsDefault as limits } from '../../src/model/limits.ts'
import { openMessage, type SendRequest, type SendWorld } from '../../src/model/send.ts'

export const agent = (more: object = {}): Agent => Agent.parse({ name: 'target', ...more })
const request: SendRequest = {
  target: 'ses_target',
  fresh: null,
  targetAgent: agent(),
  client: null,
  now: false,
  taskHash: 'mine',
  maxTokens: undefined,
}
export const turn = turnRow({ session: 'ses_sender', deadline: 10_000 })
export const senderRow = sessionRow({ id: 'ses_sender', agent: 'sender' })
export const targetRow = sessionRow({ id: 'ses_target', agent: 'target', kind: 'persistent' })
export const facts: SendFacts = {
  sender: { turn, session: senderRow },
  target: { session: targetRow, running: null, runnerAlive: false, queued: 0, next: null },
  callback: false,
  descendants: 0,
  messagesLastMinute: 0,
  oldestMessageAt: null,
  flowStartedAt: 0,
}
export const senderAgent = (more: object = {}): Pick<SendWorld, 'senderAgent'> => ({
  senderAgent: Agent.parse({ name: 'sender', allowSubAgentCalls: true, ...more }),
})
export const world: SendWorld = {
  ...senderAgent(),
  knownAgents: ['target'],
  limits,
  now: 1000,
  senderTaskHash: 'given',
}

export type More = { request?: Partial<SendRequest>; facts?: Partial<SendFacts>; world?: Partial<SendWorld> }
export const judge = (more: More = {}) =>
  openMessage({ ...request, ...more.request }, { ...facts, ...more.facts }, { ...world, ...more.world })
export const sender = (more: Parameters<typeof turnRow>[0]): Partial<SendFacts> => ({
  sender: { turn: { ...turn, ...more }, session: senderRow },
})
export const target = (more: Partial<SessionRow>): Partial<SendFacts> => ({
  target: { ...facts.target, session: { ...targetRow, ...more } },
})
