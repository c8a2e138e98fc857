import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Agent } from './agent.ts'
import { allowsTool, mayUse } from './authority.ts'
import { effectiveTimeoutMs, openCall, type OpenDecision } from './call.ts'
import type { Grant } from './event.ts'
import { limitsDefault } from './limits.ts'
import { type Refusal, type RefusalCode, isRefusal } from './refusal.ts'
import {
  permitted,
  sessionRow,
  withAgent,
  withFacts,
  withGrant,
  withRequest,
  withTarget,
  withTurn,
  type Case,
} from '../../test/kits/calls.ts'

const decide = ({ request, facts, world }: Case): OpenDecision => openCall(request, facts, world)
const codeOf = (decision: OpenDecision): RefusalCode | 'granted' =>
  isRefusal(decision) ? decision.code : 'granted'

function granted(one: Case): { grant: Grant; deadline: number } {
  const decision = decide(one)
  if (isRefusal(decision)) throw new Error(`refused: ${JSON.stringify(decision)}`)
  return decision
}
function refusal(one: Case): Refusal {
  const decision = decide(one)
  if (!isRefusal(decision)) throw new Error('granted')
  return decision
}

const pathTo = (one: Case, ...more: { session: `ses_${string}`; agent: string }[]): Grant['path'] => [
  ...more,
  ...one.facts.caller.turn.grant.path,
]
const tooLarge: Refusal = { code: 'context_too_large', tokens: 9, tokensMax: 1, parts: {} }

/** One way to break each rule, in the order in which they are documented to be checked. */
const rules: readonly { code: RefusalCode; why: string; broken: (one: Case) => Case }[] = [
  { code: 'call_ended', why: 'the turn has ended', broken: (one) => withTurn(one, { state: 'ended' }) },
  {
    code: 'call_ended',
    why: 'the turn was told to stop',
    broken: (one) => withTurn(one, { stopping: 'cancelled' }),
  },
  {
    code: 'call_ended',
    why: 'its own call is not pending',
    broken: (one) =>
      withTurn(one, {
        call: {
          ...(one.facts.caller.turn.call as NonNullable<typeof one.facts.caller.turn.call>),
          pending: false,
          outcome: 'timed_out',
        },
      }),
  },
  {
    code: 'call_ended',
    why: 'its deadline has passed',
    broken: (one) => withTurn(one, { deadline: one.world.now }),
  },
  {
    code: 'tool_disabled',
    why: 'nested calls are not allowed',
    broken: (one) => withGrant(one, { authority: { tools: null, nested: false } }),
  },
  {
    code: 'not_allowed',
    why: 'the agent may not call',
    broken: (one) => withAgent(one, { allowSubAgentCalls: false }),
  },
  {
    code: 'not_allowed',
    why: 'the agent may not call this one',
    broken: (one) => withAgent(one, { mayCall: ['somebody'] }),
  },
  {
    code: 'agent_unknown',
    why: 'there is no such agent',
    broken: (one) => withRequest(one, { targetAgent: undefined }),
  },
  {
    code: 'session_unknown',
    why: 'there is no such session',
    broken: (one) => withTarget(one, { session: null }),
  },
  {
    code: 'session_unknown',
    why: 'the session was deleted',
    broken: (one) => withTarget(one, { session: sessionRow({ kind: 'persistent', archived: 'deleted' }) }),
  },
  {
    code: 'session_unknown',
    why: 'the session is a child of another call',
    broken: (one) => withTarget(one, { session: sessionRow({ kind: 'ephemeral' }) }),
  },
  {
    code: 'too_large',
    why: 'the task is too long',
    broken: (one) => withRequest(one, { task: 'é'.repeat(51_201) }),
  },
  {
    code: 'call_cycle',
    why: 'the agent is on the path',
    broken: (one) => withGrant(one, { path: pathTo(one, { session: 'ses_0', agent: 'target' }) }),
  },
  {
    code: 'call_cycle',
    why: 'the session is on the path',
    broken: (one) => withGrant(one, { path: pathTo(one, { session: 'ses_target', agent: 'other' }) }),
  },
  {
    code: 'call_too_deep',
    why: 'the server allows no more hops',
    broken: (one) => withGrant(one, { depth: 5 }),
  },
  {
    code: 'call_too_deep',
    why: 'the agent allows no more hops',
    broken: (one) => withAgent(one, { maxDepth: 1 }),
  },
  {
    code: 'task_repeated',
    why: 'the task is handed on unchanged',
    broken: (one) => withRequest(one, { taskHash: 'whole' }),
  },
  {
    code: 'call_deadlock',
    why: 'the target waits for the caller',
    broken: (one) =>
      withTarget(one, {
        waitPath: [
          { session: 'ses_target', agent: 'target' },
          { session: 'ses_caller', agent: 'caller' },
        ],
      }),
  },
  {
    code: 'too_many_calls',
    why: 'too many calls are open',
    broken: (one) => withFacts(one, { openCalls: 10 }),
  },
  {
    code: 'rate_limited',
    why: 'too many calls were made in a minute',
    broken: (one) => withFacts(one, { callsLastMinute: 120 }),
  },
  {
    code: 'queue_full',
    why: 'too much waits for the target',
    broken: (one) => withTarget(one, { queued: 100 }),
  },
  {
    code: 'context_too_large',
    why: 'the context does not fit',
    broken: (one) => withRequest(one, { context: tooLarge }),
  },
  {
    code: 'budget_exhausted',
    why: 'no tokens are left',
    broken: (one) => withTurn(one, { tokensUsed: 8000 }),
  },
]

test('the call that the other tests break is permitted, with every count one below its limit', () =>
  expect(codeOf(decide(permitted()))).toBe('granted'))

test.each(rules)('$code where $why', ({ code, broken }) =>
  expect(codeOf(decide(broken(permitted())))).toBe(code),
)

test('where two rules are broken, the one that is documented first is the refusal, for every pair', () => {
  for (const [at, first] of rules.entries()) {
    for (const second of rules.slice(at + 1)) {
      expect([first.why, second.why, codeOf(decide(first.broken(second.broken(permitted()))))]).toEqual([
        first.why,
        second.why,
        first.code,
      ])
    }
  }
})

test('R11: a call that would make one more session than the flow may is refused, after the open calls and before the rate', () => {
  const full = withFacts(withRequest(permitted(), { fresh: true, session: 'ses_new' }), {
    descendants: 100,
    target: null,
  })
  expect(codeOf(decide(full))).toBe('too_many_descendants')
  expect(codeOf(decide(withFacts(full, { openCalls: 10 })))).toBe('too_many_calls')
  expect(codeOf(decide(withFacts(full, { callsLastMinute: 120 })))).toBe('too_many_descendants')
  expect(codeOf(decide(withFacts(permitted(), { descendants: 100 })))).toBe('granted')
})

test('R11: a call in the background is not one of those that its caller blocks on', () => {
  expect(codeOf(decide(withRequest(withFacts(permitted(), { openCalls: 10 }), { background: true })))).toBe(
    'granted',
  )
})

test('whom an agent may call is said by name or by title, as calls themselves name agents', () => {
  const made = withRequest(permitted(), {
    targetName: 'agent_1',
    targetAgent: Agent.parse({ name: 'agent_1', title: 'helper' }),
  })
  expect(codeOf(decide(withAgent(made, { mayCall: ['helper'] })))).toBe('granted')
  expect(codeOf(decide(withAgent(made, { mayCall: ['agent_1'] })))).toBe('granted')
  expect(codeOf(decide(withAgent(made, { mayCall: ['other'] })))).toBe('not_allowed')
})

test('R5: calling oneself is a call to oneself, as an agent and as a session', () => {
  const self = { agent: Agent.parse({ name: 'caller' }) }
  expect(
    refusal(
      withRequest(permitted(), { targetName: 'caller', targetAgent: self.agent, session: 'ses_other' }),
    ),
  ).toEqual({ code: 'self_call', agent: 'caller' })
  expect(refusal(withRequest(permitted(), { session: 'ses_caller' })).code).toBe('self_call')
})

test('R5: a cycle names its path from the root to the target', () => {
  expect(
    refusal(
      withRequest(permitted(), {
        targetName: 'root',
        targetAgent: Agent.parse({ name: 'root' }),
        session: 'ses_r2',
      }),
    ),
  ).toEqual({ code: 'call_cycle', path: ['root', 'caller', 'root'] })
})

test('R5: a deadlock names the whole ring, and a background call, which waits for nobody, closes none', () => {
  const ring = withTarget(permitted(), {
    waitPath: [
      { session: 'ses_target', agent: 'target' },
      { session: 'ses_caller', agent: 'caller' },
    ],
  })
  expect(refusal(ring)).toEqual({
    code: 'call_deadlock',
    path: ['caller (ses_caller)', 'target (ses_target)', 'caller (ses_caller)'],
  })
  expect(codeOf(decide(withRequest(ring, { background: true })))).toBe('granted')
})

const subagent = (): Case =>
  withFacts(
    withRequest(permitted(), {
      tool: 'subagent',
      targetName: 'caller',
      targetAgent: Agent.parse({ name: 'caller' }),
      session: 'ses_new',
      fresh: true,
    }),
    { target: null },
  )

test("subagent may run the caller's own definition, without leave to call it, once", () => {
  expect(codeOf(decide(subagent()))).toBe('granted')
  expect(codeOf(decide(withAgent(subagent(), { mayCall: [] })))).toBe('granted')
  expect(granted(subagent()).grant.subagentDepth).toBe(1)
  expect(refusal(withGrant(subagent(), { subagentDepth: 1 }))).toEqual({
    code: 'call_too_deep',
    depth: 2,
    depthMax: 1,
    limit: 'subagent',
  })
  expect(codeOf(decide(withGrant(permitted(), { subagentDepth: 1 })))).toBe('granted')
})

test('subagent is not exempt from the other rules', () => {
  expect(codeOf(decide(withAgent(subagent(), { allowSubAgentCalls: false })))).toBe('not_allowed')
  expect(codeOf(decide(withGrant(subagent(), { depth: 5 })))).toBe('call_too_deep')
  expect(
    codeOf(
      decide(
        withAgent(
          withRequest(subagent(), { targetName: 'coder', targetAgent: Agent.parse({ name: 'coder' }) }),
          { mayCall: [] },
        ),
      ),
    ),
  ).toBe('not_allowed')
})

test('R7: a chain of five hops is permitted and the sixth is refused', () => {
  expect([0, 1, 2, 3, 4, 5].map((depth) => codeOf(decide(withGrant(permitted(), { depth }))))).toEqual([
    ...Array.from({ length: 5 }, () => 'granted'),
    'call_too_deep',
  ])
})

test("a user's own task may be handed on word for word, only a called agent may not do so", () => {
  const repeated = withRequest(permitted(), { taskHash: 'whole' })
  expect(codeOf(decide(withTurn(repeated, { call: null })))).toBe('granted')
})

test('R7: zero tokens are zero, whoever says so', () => {
  expect(codeOf(decide(withRequest(permitted(), { maxTokens: 0 })))).toBe('budget_exhausted')
  expect(codeOf(decide(withGrant(permitted(), { tokensMax: 0 })))).toBe('budget_exhausted')
  expect(codeOf(decide(withRequest(withGrant(permitted(), { tokensMax: null }), { maxTokens: 0 })))).toBe(
    'budget_exhausted',
  )
  expect(
    codeOf(
      decide(
        withRequest(withGrant(permitted(), { tokensMax: null }), {
          maxTokens: undefined,
          targetAgent: Agent.parse({ name: 'target', limits: { maxTokens: 0 } }),
        }),
      ),
    ),
  ).toBe('budget_exhausted')
  expect(
    granted(withRequest(withGrant(permitted(), { tokensMax: null }), { maxTokens: undefined })).grant
      .tokensMax,
  ).toBeNull()
})

test('a refused budget says that more is needed than is left', () => {
  fc.assert(
    fc.property(
      fc.nat(2000),
      fc.option(fc.nat(2000), { nil: undefined }),
      fc.nat(2000),
      (left, maxTokens, tokens) => {
        const one = withRequest(
          withTurn(withGrant(permitted(), { tokensMax: left }), { tokensUsed: 0, tokensBelow: 0 }),
          { maxTokens, context: { tokens } },
        )
        const decision = decide(one)
        fc.pre(isRefusal(decision) && decision.code === 'budget_exhausted')
        expect(decision).toSatisfy((no: { needed: number; left: number }) => no.needed > no.left)
      },
    ),
  )
})

const cases = fc.record({
  depth: fc.integer({ min: 0, max: 6 }),
  callDeadline: fc.integer({ min: 999_000, max: 2_000_000 }),
  turnDeadline: fc.integer({ min: 999_000, max: 2_000_000 }),
  tokensMax: fc.option(fc.nat(10_000)),
  used: fc.nat(6000),
  below: fc.nat(6000),
  timeoutMs: fc.double({ min: 0, max: 1e9, noNaN: true }),
  maxTokens: fc.option(fc.nat(20_000), { nil: undefined }),
  own: fc.option(fc.nat(20_000), { nil: undefined }),
  context: fc.nat(500),
  called: fc.boolean(),
  ceiling: fc.option(fc.subarray(['read', 'write', 're*', '*'])),
  allowed: fc.option(fc.subarray(['read', 'read*', 'write', '*'])),
  nested: fc.boolean(),
  maxIterations: fc.option(fc.integer({ min: 1, max: 999 }), { nil: undefined }),
})

test('R7: whatever is granted lies within the caller: one hop deeper, its deadline, its tokens, its tools', () => {
  fc.assert(
    fc.property(cases, (given) => {
      const target = Agent.parse({
        name: 'target',
        limits: given.own === undefined ? {} : { maxTokens: given.own },
      })
      const base = withRequest(permitted(), {
        timeoutMs: given.timeoutMs,
        maxTokens: given.maxTokens,
        targetAgent: target,
        context: { tokens: given.context },
        allowedTools: given.allowed,
        nested: given.nested,
        maxIterations: given.maxIterations,
      })
      const call = given.called
        ? {
            ...(base.facts.caller.turn.call as NonNullable<typeof base.facts.caller.turn.call>),
            deadline: given.callDeadline,
          }
        : null
      const one = withGrant(
        withTurn(base, {
          call,
          deadline: given.turnDeadline,
          tokensUsed: given.used,
          tokensBelow: given.below,
        }),
        { depth: given.depth, tokensMax: given.tokensMax, authority: { tools: given.ceiling, nested: true } },
      )
      fc.pre(!isRefusal(decide(one)))
      const { grant, deadline } = granted(one)
      expect(grant.depth).toBe(given.depth + 1)
      expect(grant.path.at(-1)).toEqual({ session: 'ses_target', agent: 'target' })
      const callerDeadline = Math.min(given.turnDeadline, call?.deadline ?? Infinity)
      expect(deadline).toBeLessThanOrEqual(callerDeadline)
      expect(deadline).toBeLessThanOrEqual(one.world.now + limitsDefault.callTimeoutMsMax)
      expect(Number.isInteger(deadline)).toBe(true)
      const tokens = grant.tokensMax ?? Infinity
      expect(tokens).toBeLessThanOrEqual(
        Math.min(
          given.tokensMax === null ? Infinity : given.tokensMax - given.used - given.below,
          given.maxTokens ?? Infinity,
        ),
      )
      expect(tokens).toBeGreaterThanOrEqual(Math.max(1, given.context))
      expect(grant.maxIterations).toBeLessThanOrEqual(64)
      for (const tool of ['read', 'read_output', 'write', 'rest']) {
        expect(mayUse(grant.authority, ['*'], tool)).toBe(
          (given.ceiling === null || allowsTool(given.ceiling, tool)) &&
            (given.allowed === null || allowsTool(given.allowed, tool)),
        )
      }
      expect(grant.authority.nested).toBe(given.nested)
    }),
    { numRuns: 1000 },
  )
})

test('the caller keeps the smaller of two seconds and a twentieth of its time, to use a partial result', () => {
  expect(effectiveTimeoutMs(300_000, 10_000, limitsDefault)).toBe(9500)
  expect(effectiveTimeoutMs(300_000, 100_000, limitsDefault)).toBe(98_000)
  expect(effectiveTimeoutMs(5000, 100_000, limitsDefault)).toBe(5000)
  expect(effectiveTimeoutMs(900_000, 1_000_000, limitsDefault)).toBe(300_000)
})
