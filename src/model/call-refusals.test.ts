/** What a refused caller learns, value by value, and what a granted call gets. */
import { expect, test } from 'vitest'
import { Agent } from './agent.ts'
import { effectiveTimeoutMs } from './call.ts'
import type { TurnRow } from './facts.ts'
import { limitsDefault } from './limits.ts'
import type { Refusal } from './refusal.ts'
import {
  codeOf,
  decide,
  granted,
  permitted,
  refusal,
  sessionRow,
  withAgent,
  withFacts,
  withGrant,
  withRequest,
  withTarget,
  withTurn,
  type Case,
} from '../../test/kits/calls.ts'

const one = permitted()
const call = one.facts.caller.turn.call as NonNullable<TurnRow['call']>
const { limits } = one.world
const withLimits = (more: Partial<typeof limits>): Case => ({
  ...one,
  world: { ...one.world, limits: { ...limits, ...more } },
})
const agent = (more: object): Agent => Agent.parse({ name: 'target', ...more })

const refusals: readonly [Case, Refusal][] = [
  [withTurn(one, { state: 'ended' }), { code: 'call_ended', why: 'your turn has ended' }],
  [withTurn(one, { stopping: 'cancelled' }), { code: 'call_ended', why: 'your turn was cancelled' }],
  [
    withTurn(one, { call: { ...call, pending: false, outcome: 'timed_out' } }),
    { code: 'call_ended', why: 'the call that started your turn ended (timed_out)' },
  ],
  [
    withTurn(one, { call: { ...call, pending: false, outcome: null } }),
    { code: 'call_ended', why: 'the call that started your turn ended (unknown)' },
  ],
  [withTurn(one, { deadline: one.world.now }), { code: 'call_ended', why: 'your deadline has passed' }],
  [
    withTurn(one, { call: { ...call, deadline: one.world.now } }),
    { code: 'call_ended', why: 'your deadline has passed' },
  ],
  [
    withGrant(one, { authority: { tools: null, nested: false } }),
    { code: 'tool_disabled', tool: 'call_agent', why: 'this call was made with allow_nested_calls: false' },
  ],
  [
    withAgent(one, { allowSubAgentCalls: false }),
    { code: 'not_allowed', agent: 'caller', what: 'call other agents', allowed: [] },
  ],
  [
    withAgent(one, { mayCall: ['somebody'] }),
    { code: 'not_allowed', agent: 'caller', what: 'call target', allowed: ['somebody'] },
  ],
  [
    withAgent(withRequest(one, { targetAgent: agent({ title: 'Titled' }) }), { mayCall: ['target2'] }),
    { code: 'not_allowed', agent: 'caller', what: 'call target', allowed: ['target2'] },
  ],
  [
    withAgent(withRequest(one, { targetAgent: undefined, targetName: 'nobody' }), { mayCall: ['somebody'] }),
    { code: 'not_allowed', agent: 'caller', what: 'call nobody', allowed: ['somebody'] },
  ],
  [
    withTarget(withRequest(one, { bySession: true, targetAgent: undefined }), { session: null }),
    { code: 'session_unknown', session: 'ses_target' },
  ],
  [withTarget(one, { session: null }), { code: 'session_unknown', session: 'ses_target' }],
  [
    withTarget(one, { session: sessionRow({ kind: 'persistent', archived: 'deleted' }) }),
    { code: 'session_unknown', session: 'ses_target' },
  ],
  [
    withRequest(one, { task: 'x'.repeat(limits.taskBytesMax + 1) }),
    { code: 'too_large', field: 'task', bytes: limits.taskBytesMax + 1, bytesMax: limits.taskBytesMax },
  ],
  [withRequest(one, { targetAgent: agent({ name: 'caller' }) }), { code: 'self_call', agent: 'caller' }],
  [withRequest(one, { session: 'ses_caller' }), { code: 'self_call', agent: 'target' }],
  [
    withRequest(one, { targetAgent: agent({ name: 'root' }) }),
    { code: 'call_cycle', path: ['root', 'caller', 'root'] },
  ],
  [withRequest(one, { session: 'ses_root' }), { code: 'call_cycle', path: ['root', 'caller', 'target'] }],
  [
    withGrant(one, { depth: limits.depthMax }),
    { code: 'call_too_deep', depth: limits.depthMax + 1, depthMax: limits.depthMax, limit: 'the server' },
  ],
  [withAgent(one, { maxDepth: 1 }), { code: 'call_too_deep', depth: 2, depthMax: 1, limit: 'caller' }],
  [{ ...withRequest(one, { taskHash: 'whole' }) }, { code: 'task_repeated', agent: 'target' }],
  [
    withTarget(one, {
      waitPath: [
        { session: 'ses_target', agent: 'target' },
        { session: 'ses_caller', agent: 'caller' },
      ],
    }),
    {
      code: 'call_deadlock',
      path: ['caller (ses_caller)', 'target (ses_target)', 'caller (ses_caller)'],
    },
  ],
  [
    withFacts(one, { openCalls: limits.callsPerCallerMax }),
    { code: 'too_many_calls', open: limits.callsPerCallerMax, openMax: limits.callsPerCallerMax },
  ],
  [
    withFacts(withRequest(one, { fresh: true }), { descendants: limits.descendantsPerFlowMax }),
    {
      code: 'too_many_descendants',
      created: limits.descendantsPerFlowMax,
      createdMax: limits.descendantsPerFlowMax,
    },
  ],
  [
    withFacts(one, { callsLastMinute: limits.callsPerMinute }),
    { code: 'rate_limited', what: 'calls', perMinute: limits.callsPerMinute, retryInMs: 50_000 },
  ],
  [
    withFacts(one, { callsLastMinute: limits.callsPerMinute, oldestCallAt: null }),
    { code: 'rate_limited', what: 'calls', perMinute: limits.callsPerMinute, retryInMs: 60_000 },
  ],
  [
    withFacts(one, { callsLastMinute: limits.callsPerMinute, oldestCallAt: 1 }),
    { code: 'rate_limited', what: 'calls', perMinute: limits.callsPerMinute, retryInMs: 1 },
  ],
  [
    withTarget(one, { queued: limits.queuedPerSessionMax }),
    {
      code: 'queue_full',
      session: 'ses_target',
      queued: limits.queuedPerSessionMax,
      queuedMax: limits.queuedPerSessionMax,
    },
  ],
  [withGrant(one, { tokensMax: 3050 }), { code: 'budget_exhausted', needed: 100, left: 50 }],
]

test.each(refusals.map(([broken, expected]) => ({ broken, expected, code: expected.code })))(
  'a refusal says everything that its reader needs: $code',
  ({ broken, expected }) => expect(refusal(broken)).toStrictEqual(expected),
)

test('a task of exactly the bound is taken', () => {
  expect(codeOf(decide(withRequest(one, { task: 'x'.repeat(limits.taskBytesMax) })))).toBe('granted')
})

test('a grant is one hop deeper, within its caller, with its own budget and time', () => {
  expect(granted(one)).toStrictEqual({
    grant: {
      agent: 'target',
      depth: 2,
      subagentDepth: 0,
      path: [...one.facts.caller.turn.grant.path, { session: 'ses_target', agent: 'target' }],
      authority: { tools: null, nested: true },
      tokensMax: 500,
      maxIterations: granted(one).grant.maxIterations,
    },
    deadline: one.world.now + 30_000,
    boundBy: 'request',
  })
})

test('the name that the configuration knows counts, not the one that was given', () => {
  const { grant } = granted(withRequest(one, { targetName: 'TARGET' }))
  expect([grant.agent, grant.path.at(-1)?.agent]).toEqual(['target', 'target'])
})

const iterations = (more: Parameters<typeof withRequest>[1]): number =>
  granted(withRequest(one, more)).grant.maxIterations

test('rounds: what was asked for, within the agent and the server', () => {
  const normal = iterations({})
  expect(iterations({ maxIterations: 3 })).toBe(3)
  expect(iterations({ targetAgent: agent({ limits: { maxIterations: 5 } }) })).toBe(5)
  expect(iterations({ maxIterations: 3, targetAgent: agent({ limits: { maxIterations: 5 } }) })).toBe(3)
  expect(iterations({ maxIterations: 9, targetAgent: agent({ limits: { maxIterations: 5 } }) })).toBe(5)
  const most = iterations({ maxIterations: 1_000_000 })
  expect(most).toBeGreaterThan(normal)
  expect(most).toBeLessThan(1_000_000)
  const own = { tool: 'subagent' as const, targetAgent: agent({ limits: { maxIterations: 5 } }) }
  expect(iterations({ ...own, maxIterations: 3 })).toBe(3)
  expect(iterations(own)).not.toBe(5)
  expect(iterations({ ...own, maxIterations: 1_000_000 })).toBeLessThan(1_000_000)
  expect(iterations({ ...own, maxIterations: 1_000_000 })).toBeGreaterThanOrEqual(iterations(own))
})

test('a subagent counts its own depth, others do not', () => {
  expect(granted(withRequest(one, { tool: 'subagent' })).grant.subagentDepth).toBe(1)
  expect(granted(withGrant(one, { subagentDepth: 1 })).grant.subagentDepth).toBe(1)
})

const tokens = (left: number, more: Parameters<typeof withRequest>[1] = {}): number | null =>
  granted(withGrant(withRequest(one, { maxTokens: undefined, ...more }), { tokensMax: 3000 + left })).grant
    .tokensMax

test('a call holds half of what is left, rounded up, at least its context, and never more than there is', () => {
  expect(tokens(1000)).toBe(500)
  expect(tokens(1001)).toBe(501)
  expect(tokens(150)).toBe(100)
  expect(tokens(1000, { maxTokens: 5000 })).toBe(1000)
  expect(tokens(1000, { targetAgent: agent({ limits: { maxTokens: 300 } }) })).toBe(300)
  expect(tokens(1, { context: { tokens: 0 } })).toBe(1)
  const free = withGrant(withRequest(one, { maxTokens: undefined }), { tokensMax: null })
  expect(granted(free).grant.tokensMax).toBeNull()
  expect(granted(withRequest(free, { maxTokens: 170 })).grant.tokensMax).toBe(170)
})

test('a callee ends a little before its caller, in whole milliseconds', () => {
  expect(effectiveTimeoutMs(30_000, 1_000_000, limitsDefault.callTimeoutMsMax)).toBe(30_000)
  expect(effectiveTimeoutMs(Infinity, 100_000, limitsDefault.callTimeoutMsMax)).toBe(98_000)
  expect(effectiveTimeoutMs(Infinity, 1001, limitsDefault.callTimeoutMsMax)).toBe(950)
  expect(effectiveTimeoutMs(Infinity, Infinity, limitsDefault.callTimeoutMsMax)).toBe(
    limitsDefault.callTimeoutMsMax,
  )
  expect(granted(withRequest(one, { timeoutMs: -5 })).deadline).toBe(one.world.now)
  expect(withLimits({ callTimeoutMsMax: 10 }) && granted(withLimits({ callTimeoutMsMax: 10 })).deadline).toBe(
    one.world.now + 10,
  )
})

test('money: a day that is used up, an agent that may spend nothing, and half of what is left', () => {
  const dollar = 1_000_000_000
  const day = { of: 'server', max: dollar, used: dollar } as const
  expect(refusal({ ...one, world: { ...one.world, day } })).toMatchObject({
    code: 'budget_exhausted',
    usd: { day: 'server' },
  })
  expect(refusal(withRequest(one, { targetAgent: agent({ limits: { maxUsd: 0 } }) }))).toMatchObject({
    code: 'budget_exhausted',
    usd: { max: 0, used: 0 },
  })
  expect(granted(withGrant(one, { nanoUsdMax: 4 * dollar })).grant.nanoUsdMax).toBe(2 * dollar)
})

test('a client asks for one thing, which may use all of the tokens and the money of its flow', () => {
  const { session } = one.facts.caller
  const caller = { ...one.facts.caller, session: { ...session, kind: 'external' as const } }
  const client = withFacts(withRequest(one, { maxTokens: undefined }), { caller })
  const { grant } = granted(withGrant(client, { tokensMax: 4000, nanoUsdMax: 4_000_000_000 }))
  expect([grant.tokensMax, grant.nanoUsdMax]).toEqual([1000, 4_000_000_000])
})

test('an agent that may do more rounds than is usual does them', () => {
  const usual = iterations({})
  expect(iterations({ targetAgent: agent({ limits: { maxIterations: usual + 1 } }) })).toBe(usual + 1)
})

test('a session that is named and runs here is called', () => {
  expect(granted(withRequest(one, { bySession: true })).grant.agent).toBe('target')
})

test('only the last of a path calls itself; all others on it are a ring', () => {
  const path = [
    { session: 'ses_root', agent: 'root' },
    { session: 'ses_middle', agent: 'target' },
    { session: 'ses_caller', agent: 'caller' },
  ] as const
  expect(refusal(withGrant(one, { path: [...path] }))).toMatchObject({ code: 'call_cycle' })
})

test('the agent that the configuration knows is named, where it is not allowed', () => {
  const given = withRequest(one, { targetName: 'TARGET' })
  expect(refusal(withAgent(given, { mayCall: ['somebody'] }))).toMatchObject({ what: 'call target' })
})
