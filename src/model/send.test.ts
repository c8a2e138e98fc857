/**
 * The rules of messages: each alone breaks what would be allowed; whatever is granted lies within the sender.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sessionRow, turnRow } from '../../test/kits/calls.ts'
import { Agent } from './agent.ts'
import type { SendFacts, SessionFacts } from './facts.ts'
import { limitsDefault } from './limits.ts'
import { openMessage, type SendRequest, type SendWorld } from './send.ts'
import { isRefusal } from './refusal.ts'

type Case = { request: SendRequest; facts: SendFacts; world: SendWorld }

const target = (more: Partial<SessionFacts> = {}): SessionFacts => ({
  session: sessionRow({ id: 'ses_target', agent: 'target', kind: 'persistent' }),
  running: null,
  runnerAlive: false,
  queued: 0,
  next: null,
  ...more,
})
const allowed = (): Case => ({
  request: {
    target: 'ses_target',
    fresh: null,
    targetAgent: Agent.parse({ name: 'target' }),
    client: null,
    now: false,
    taskHash: 'mine',
    maxTokens: undefined,
  },
  facts: {
    sender: {
      turn: turnRow({ session: 'ses_sender', deadline: 10_000 }),
      session: sessionRow({ id: 'ses_sender' }),
    },
    target: target(),
    callback: false,
    descendants: 0,
    messagesLastMinute: 0,
    oldestMessageAt: null,
    flowStartedAt: 0,
  },
  world: {
    senderAgent: Agent.parse({ name: 'sender', allowSubAgentCalls: true }),
    knownAgents: ['target'],
    limits: limitsDefault,
    now: 1000,
    senderTaskHash: 'given',
  },
})
const judge = ({ request, facts, world }: Case) => openMessage(request, facts, world)
const sender = (one: Case, more: Partial<ReturnType<typeof turnRow>>): Case => ({
  ...one,
  facts: {
    ...one.facts,
    sender:
      one.facts.sender === null ? null : { ...one.facts.sender, turn: { ...one.facts.sender.turn, ...more } },
  },
})
const facts = (one: Case, more: Partial<SendFacts>): Case => ({ ...one, facts: { ...one.facts, ...more } })
const getGrant = (one: Case) => {
  const { turn } = one.facts.sender ?? {}
  if (turn === undefined) throw new Error('a sender is needed')
  return turn.grant
}

test('what no rule forbids is granted: one hop deeper, with the ceiling of its sender, on a path of its own', () => {
  expect(judge(allowed())).toMatchObject({
    agent: 'target',
    depth: 2,
    path: [{ session: 'ses_target', agent: 'target' }],
  })
})

const broken: [string, string, (one: Case) => Case][] = [
  ['call_ended', 'the turn has ended', (one) => sender(one, { state: 'ended' })],
  ['call_ended', 'the turn was told to stop', (one) => sender(one, { stopping: 'cancelled' })],
  ['call_ended', 'its deadline has passed', (one) => sender(one, { deadline: 999 })],
  ['session_unknown', 'there is no such session', (one) => facts(one, { target: target({ session: null }) })],
  [
    'session_unknown',
    'it was deleted',
    (one) =>
      facts(one, {
        target: target({
          session: sessionRow({ id: 'ses_target', kind: 'persistent', archived: 'deleted' }),
        }),
      }),
  ],
  [
    'session_unknown',
    'it is a call’s own',
    (one) => facts(one, { target: target({ session: sessionRow({ id: 'ses_target', kind: 'ephemeral' }) }) }),
  ],
  [
    'session_unknown',
    'it belongs to a client outside',
    (one) => facts(one, { target: target({ session: sessionRow({ id: 'ses_target', kind: 'external' }) }) }),
  ],
  [
    'agent_unknown',
    'its agent is no longer configured',
    (one) => ({ ...one, request: { ...one.request, targetAgent: undefined } }),
  ],
  [
    'self_call',
    'it is the sender',
    (one) =>
      facts(one, {
        sender:
          one.facts.sender === null
            ? null
            : { ...one.facts.sender, session: sessionRow({ id: 'ses_target' }) },
      }),
  ],
  [
    'tool_disabled',
    'the sender was called without nested calls',
    (one) => sender(one, { grant: { ...getGrant(one), authority: { tools: null, nested: false } } }),
  ],
  [
    'not_allowed',
    'the sender may not call',
    (one) => ({
      ...one,
      world: { ...one.world, senderAgent: Agent.parse({ name: 'sender', allowSubAgentCalls: false }) },
    }),
  ],
  [
    'not_allowed',
    'the sender may call others only',
    (one) => ({
      ...one,
      world: {
        ...one.world,
        senderAgent: Agent.parse({ name: 'sender', allowSubAgentCalls: true, mayCall: ['else'] }),
      },
    }),
  ],
  [
    'call_too_deep',
    'the server’s depth is used up',
    (one) => sender(one, { grant: { ...getGrant(one), depth: 5 } }),
  ],
  [
    'call_too_deep',
    'the sender’s own depth is',
    (one) => ({
      ...one,
      world: {
        ...one.world,
        senderAgent: Agent.parse({ name: 'sender', allowSubAgentCalls: true, maxDepth: 0 }),
      },
    }),
  ],
  [
    'task_repeated',
    'it is the task that started the sender',
    (one) =>
      sender(
        { ...one, world: { ...one.world, senderTaskHash: 'mine' } },
        {
          call: {
            id: 'call_1',
            caller: 'ses_root',
            callerTurn: 'turn_root',
            pending: true,
            outcome: null,
            background: false,
            deadline: 10_000,
            key: '',
          },
        },
      ),
  ],
  [
    'flow_expired',
    'the user spoke last too long ago',
    (one) => ({
      ...facts(sender(one, { deadline: 1e10 }), { flowStartedAt: 0 }),
      world: { ...one.world, now: 3_602_000 },
    }),
  ],
  [
    'rate_limited',
    'the flow has sent too much',
    (one) => facts(one, { messagesLastMinute: 20, oldestMessageAt: 500 }),
  ],
  [
    'too_many_descendants',
    'the flow has made too many',
    (one) => ({
      ...facts(one, { descendants: 100 }),
      request: {
        ...one.request,
        fresh: sessionRow({ id: 'ses_target', agent: 'target', kind: 'persistent' }),
      },
    }),
  ],
  ['queue_full', 'too much waits already', (one) => facts(one, { target: target({ queued: 100 }) })],
  [
    'session_busy',
    'it must be now',
    (one) => ({
      ...facts(one, { target: target({ running: turnRow({}) }) }),
      request: { ...one.request, now: true },
    }),
  ],
  [
    'budget_exhausted',
    'no tokens are left',
    (one) => sender(one, { grant: { ...getGrant(one), tokensMax: 10 }, tokensUsed: 10 }),
  ],
]

test.each(broken)('%s: %s', (code, _why, change) => expect(judge(change(allowed()))).toMatchObject({ code }))

test("a reply to the sender's maker needs no permission and adds no depth; but it needs a live turn", () => {
  const deep = sender(facts(allowed(), { callback: true }), {
    grant: { ...getGrant(allowed()), depth: 5, authority: { tools: ['read'], nested: false } },
  })
  const mute = {
    ...deep,
    world: { ...deep.world, senderAgent: Agent.parse({ name: 'sender', allowSubAgentCalls: false }) },
  }
  expect(judge(mute)).toMatchObject({ depth: 5, authority: { tools: ['read'], nested: false } })
  expect(judge(sender(mute, { state: 'ended' }))).toMatchObject({ code: 'call_ended' })
})

test('a user is bound by neither depth nor rate, only by what the session can take', () => {
  const one = facts(allowed(), { sender: null, messagesLastMinute: 1000, descendants: 1000 })
  expect(judge({ ...one, world: { ...one.world, senderAgent: null } })).toMatchObject({
    depth: 0,
    tokensMax: null,
  })
  expect(
    judge({ ...facts(one, { target: target({ queued: 100 }) }), world: { ...one.world, senderAgent: null } }),
  ).toMatchObject({ code: 'queue_full' })
  expect(
    judge({
      ...one,
      request: { ...one.request, client: 'ses_client' },
      world: { ...one.world, senderAgent: null },
    }),
  ).toMatchObject({ depth: 1 })
})

test('R7: whatever is granted lies within the sender: depth, tokens, tools', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 6 }),
      fc.option(fc.integer({ min: 0, max: 10_000 })),
      fc.integer({ min: 0, max: 10_000 }),
      fc.option(fc.array(fc.constantFrom('read', 'write', '*'))),
      fc.boolean(),
      (depth, tokensMax, tokensUsed, tools, callback) => {
        const one = sender(facts(allowed(), { callback }), {
          tokensUsed,
          grant: { ...getGrant(allowed()), depth, tokensMax, authority: { tools, nested: true } },
        })
        const granted = judge(one)
        if (isRefusal(granted)) return
        expect(granted.depth).toBe(callback ? depth : depth + 1)
        expect(granted.authority.tools).toEqual(tools)
        expect(
          tokensMax === null || (granted.tokensMax ?? Infinity) <= Math.max(0, tokensMax - tokensUsed),
        ).toBe(true)
        expect(callback || granted.depth <= limitsDefault.depthMax).toBe(true)
      },
    ),
  )
})
