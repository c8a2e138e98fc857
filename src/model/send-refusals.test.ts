/** What a refused sender learns, value by value, and what a message is granted. */
import { expect, test } from 'vitest'
import {
  agent,
  facts,
  judge,
  sender,
  senderAgent,
  target,
  targetRow,
  turn,
  world,
  type More,
} from '../../test/kits/sends.ts'
import { Agent } from './agent.ts'
import { fullAuthority } from './authority.ts'
import { inboxMax, limitsDefault as limits } from './limits.ts'
import { openSession } from './send.ts'
import type { Refusal } from './refusal.ts'

const busy = { ...facts.target, running: turn }
const unknown: Refusal = { code: 'session_unknown', session: 'ses_target' }

const refusals: readonly [string, More, Refusal][] = [
  ['late', { facts: sender({ deadline: 1000 }) }, { code: 'call_ended', why: 'your deadline has passed' }],
  ['ended', { facts: sender({ state: 'ended' }) }, { code: 'call_ended', why: 'your turn has ended' }],
  ['deleted', { facts: target({ archived: 'deleted' }) }, unknown],
  ['gone', { facts: { target: { ...facts.target, session: null } } }, unknown],
  ['external', { facts: target({ kind: 'external' }) }, unknown],
  ['ephemeral without its call', { request: { inbox: true }, facts: target({ kind: 'ephemeral' }) }, unknown],
  ['itself', { request: { target: 'ses_sender' } }, { code: 'self_call', agent: 'sender' }],
  [
    'a client to itself',
    { request: { client: 'ses_target' }, facts: { sender: null } },
    { code: 'self_call', agent: 'ses_target' },
  ],
  [
    'no nested calls',
    { facts: sender({ grant: { ...turn.grant, authority: { tools: null, nested: false } } }) },
    {
      code: 'tool_disabled',
      tool: 'send_agent_message',
      why: 'this call was made with allow_nested_calls: false',
    },
  ],
  [
    'an agent that may not',
    { world: senderAgent({ allowSubAgentCalls: false }) },
    { code: 'not_allowed', agent: 'sender', what: 'write to other agents', allowed: [] },
  ],
  [
    'another agent than allowed',
    { world: senderAgent({ mayCall: ['somebody'] }) },
    { code: 'not_allowed', agent: 'sender', what: 'write to target', allowed: ['somebody'] },
  ],
  [
    'too deep for the server',
    { facts: sender({ grant: { ...turn.grant, depth: limits.depthMax } }) },
    { code: 'call_too_deep', depth: limits.depthMax + 1, depthMax: limits.depthMax, limit: 'the server' },
  ],
  [
    'too deep for its agent',
    { world: senderAgent({ maxDepth: 1 }) },
    { code: 'call_too_deep', depth: 2, depthMax: 1, limit: 'sender' },
  ],
  ['handed on', { request: { taskHash: 'given' } }, { code: 'task_repeated', agent: 'target' }],
  [
    'handed on to one with a title',
    { request: { taskHash: 'given', targetAgent: agent({ title: 'Titled' }) } },
    { code: 'task_repeated', agent: 'Titled' },
  ],
  [
    'an old flow',
    {
      facts: { ...sender({ deadline: 1e15 }), flowStartedAt: 500 },
      world: { now: (limits.messageAgeSeconds + 1) * 1000 + 500 },
    },
    {
      code: 'flow_expired',
      ageSeconds: limits.messageAgeSeconds + 1,
      ageSecondsMax: limits.messageAgeSeconds,
    },
  ],
  [
    'too often',
    { facts: { messagesLastMinute: limits.messagesPerMinute, oldestMessageAt: 900 } },
    { code: 'rate_limited', what: 'messages', perMinute: limits.messagesPerMinute, retryInMs: 59_900 },
  ],
  [
    'too many sessions',
    { request: { fresh: targetRow }, facts: { descendants: limits.descendantsPerFlowMax } },
    {
      code: 'too_many_descendants',
      created: limits.descendantsPerFlowMax,
      createdMax: limits.descendantsPerFlowMax,
    },
  ],
  [
    'a full inbox',
    { request: { inbox: true }, facts: { waiting: inboxMax } },
    { code: 'queue_full', session: 'ses_target', queued: inboxMax, queuedMax: inboxMax },
  ],
  [
    'a full queue',
    { facts: { target: { ...facts.target, queued: limits.queuedPerSessionMax } } },
    {
      code: 'queue_full',
      session: 'ses_target',
      queued: limits.queuedPerSessionMax,
      queuedMax: limits.queuedPerSessionMax,
    },
  ],
  [
    'busy',
    { request: { now: true }, facts: { target: busy } },
    { code: 'session_busy', session: 'ses_target' },
  ],
  [
    'something queued',
    { request: { now: true }, facts: { target: { ...facts.target, next: turn } } },
    { code: 'session_busy', session: 'ses_target' },
  ],
  [
    'now, into an inbox',
    { request: { now: true, inbox: true } },
    { code: 'session_busy', session: 'ses_target' },
  ],
  [
    'nothing left',
    { facts: sender({ grant: { ...turn.grant, tokensMax: 3000 } }) },
    { code: 'budget_exhausted', needed: 1, left: 0 },
  ],
]

test.each(refusals)('a refusal says everything that its reader needs: %s', (_, more, expected) => {
  expect(judge(more)).toStrictEqual(expected)
})

const granted = {
  agent: 'target',
  depth: 2,
  subagentDepth: 0,
  path: [{ session: 'ses_target', agent: 'target' }],
  authority: fullAuthority,
  tokensMax: 3500,
  maxIterations: 0,
}
const grants: readonly [string, More, object][] = [
  ['one hop deeper', {}, {}],
  ['a free queue', { request: { now: true } }, {}],
  ['within the inbox', { request: { inbox: true }, facts: { waiting: inboxMax - 1 } }, {}],
  ['an unknown number waits', { request: { inbox: true } }, {}],
  [
    'a flow of exactly the age',
    { facts: sender({ deadline: 1e15 }), world: { now: limits.messageAgeSeconds * 1000 + 999 } },
    {},
  ],
  [
    'a callback',
    { facts: { callback: true }, world: senderAgent({ allowSubAgentCalls: false }) },
    { depth: 1 },
  ],
  ['a reply', { request: { reply: true }, world: senderAgent({ mayCall: [] }) }, {}],
  [
    'a reply by a repeated task of the user',
    { request: { taskHash: 'given' }, facts: sender({ call: null }) },
    {},
  ],
  [
    'a deep callback',
    { facts: { callback: true, ...sender({ grant: { ...turn.grant, depth: limits.depthMax } }) } },
    { depth: limits.depthMax },
  ],
  [
    'an external receiver',
    { request: { inbox: true }, facts: target({ kind: 'external' }) },
    { tokensMax: null },
  ],
  [
    'the session of an open call',
    { request: { inbox: true }, facts: { ...target({ kind: 'ephemeral' }), pending: true } },
    { tokensMax: null },
  ],
  ['a user', { facts: { sender: null }, world: { senderAgent: null } }, { depth: 0, tokensMax: null }],
  [
    'a client',
    {
      request: { client: 'ses_client', maxTokens: 70.9 },
      facts: { sender: null },
      world: { senderAgent: null },
    },
    { depth: 1, tokensMax: 70 },
  ],
  [
    'a user, with the budget of the agent',
    {
      request: { maxTokens: 90, targetAgent: agent({ limits: { maxTokens: 60, maxIterations: 4 } }) },
      facts: { sender: null },
      world: { senderAgent: null },
    },
    { depth: 0, tokensMax: 60, maxIterations: 4 },
  ],
  [
    'a released draft of an ended turn, long ago, with nothing left',
    {
      request: { released: true },
      facts: {
        ...sender({ state: 'ended', grant: { ...turn.grant, tokensMax: 3000 } }),
        messagesLastMinute: 1e6,
      },
      world: { now: 1e12 },
    },
    { tokensMax: null },
  ],
  ['half, rounded up', { facts: sender({ tokensUsed: 1001 }) }, { tokensMax: 3500 }],
  ['half, rounded up again', { facts: sender({ tokensUsed: 1002 }) }, { tokensMax: 3499 }],
  ['no budget', { facts: sender({ grant: { ...turn.grant, tokensMax: null } }) }, { tokensMax: null }],
  [
    'no budget, but the agent has one',
    {
      request: { targetAgent: agent({ limits: { maxTokens: 60 } }) },
      facts: sender({ grant: { ...turn.grant, tokensMax: null } }),
    },
    { tokensMax: 60 },
  ],
  [
    'the budget of the agent',
    { request: { targetAgent: agent({ limits: { maxTokens: 60 } }) } },
    { tokensMax: 60 },
  ],
  ['a subagent', { facts: sender({ grant: { ...turn.grant, subagentDepth: 1 } }) }, { subagentDepth: 1 }],
]

test.each(grants)('a message is granted: %s', (_, more, expected) => {
  const grant = judge(more)
  expect(grant).toStrictEqual({
    ...granted,
    maxIterations: 'maxIterations' in grant ? grant.maxIterations : -1,
    ...expected,
  })
})

test('rounds: those of the agent, within the server', () => {
  const rounds = (limitsOfAgent: object): unknown =>
    (judge({ request: { targetAgent: agent({ limits: limitsOfAgent }) } }) as { maxIterations: number })
      .maxIterations
  expect(rounds({ maxIterations: 3 })).toBe(3)
  expect(rounds({})).toBeGreaterThan(3)
  expect(rounds({ maxIterations: 50 })).toBeLessThanOrEqual(50)
})

test('a session is opened by those who may write to its agent', () => {
  const open = (more: More & { agent?: Agent | null } = {}) =>
    openSession(
      { targetAgent: more.agent === null ? undefined : agent() },
      'target',
      { ...facts, ...more.facts },
      { ...world, ...more.world },
    )
  expect(open()).toBeNull()
  expect(open({ agent: null })).toMatchObject({ code: 'agent_unknown', agent: 'target' })
  expect(open({ facts: sender({ state: 'ended' }) })).toMatchObject({ code: 'call_ended' })
  expect(open({ world: senderAgent({ mayCall: ['x'] }) })).toMatchObject({ code: 'not_allowed' })
  expect(open({ world: senderAgent({ maxDepth: 1 }) })).toMatchObject({ code: 'call_too_deep' })
  const many = { descendants: limits.descendantsPerFlowMax }
  expect(open({ facts: many })).toMatchObject({ code: 'too_many_descendants' })
  expect(open({ facts: { ...many, sender: null } })).toBeNull()
})
