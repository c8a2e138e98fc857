import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Agent } from './agent.ts'
import { allowsTool, mayUse } from './authority.ts'
import { effectiveTimeoutMs } from './call.ts'
import { limitsDefault } from './limits.ts'
import { isRefusal } from './refusal.ts'
import {
  permitted,
  withAgent,
  withFacts,
  withGrant,
  withRequest,
  withTurn,
  type Case,
} from '../../test/kits/calls.ts'
import { codeOf, decide, granted, refusal } from '../../test/kits/calls.ts'

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
  expect(effectiveTimeoutMs(300_000, 10_000, limitsDefault.callTimeoutMsMax)).toBe(9500)
  expect(effectiveTimeoutMs(300_000, 100_000, limitsDefault.callTimeoutMsMax)).toBe(98_000)
  expect(effectiveTimeoutMs(5000, 100_000, limitsDefault.callTimeoutMsMax)).toBe(5000)
  expect(effectiveTimeoutMs(900_000, 1_000_000, limitsDefault.callTimeoutMsMax)).toBe(300_000)
})
