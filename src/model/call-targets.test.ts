/** Whom a call can reach and why it cannot, and which limit its time comes from. */
import { describe, expect, test } from 'vitest'
import {
  decide,
  permitted,
  refusal,
  sessionRow,
  withAgent,
  withGrant,
  withRequest,
  withTarget,
  withTurn,
  type Case,
} from '../../test/kits/calls.ts'
import { Agent } from './agent.ts'
import type { TurnRow } from './facts.ts'
import { isRefusal } from './refusal.ts'

const withWorld = (one: Case, more: Partial<Case['world']>): Case => ({
  ...one,
  world: { ...one.world, ...more },
})
const outside = (what: string) => ({
  code: 'not_allowed',
  agent: 'caller',
  what: `call ${what}: a program outside runs that session, and answers nobody who waits`,
  allowed: ['to write to it instead, which waits in its inbox'],
})

describe('a client outside takes mail and no calls', () => {
  test('by its session', () => {
    const session = sessionRow({ id: 'ses_client', kind: 'external' })
    expect(refusal(withTarget(withRequest(permitted(), { bySession: true }), { session }))).toEqual(
      outside('ses_client'),
    )
  })

  test('by its address, where no agent is called so', () => {
    const named = withRequest(permitted(), { targetAgent: undefined, targetName: 'codex@api' })
    expect(refusal(named)).toEqual(outside('codex@api'))
    const agent = Agent.parse({ name: 'made', title: 'codex@api' })
    expect(isRefusal(decide(withRequest(named, { targetAgent: agent })))).toBe(false)
  })

  test('a session that is not there is unknown', () => {
    const gone = withTarget(withRequest(permitted(), { bySession: true }), { session: null })
    expect(refusal(gone)).toEqual({ code: 'session_unknown', session: 'ses_target' })
  })
})

describe('an agent that cannot be run or held', () => {
  const agent = Agent.parse({ name: 'target', title: 'The target' })
  const why = { why: 'it is not installed', cure: 'install it' }

  test('is unavailable, by the name that people use', () => {
    const away = withWorld(permitted(), { unavailable: why })
    expect(refusal(away)).toEqual({ code: 'agent_unavailable', agent: 'target', ...why })
    expect(refusal(withRequest(away, { targetAgent: agent }))).toMatchObject({ agent: 'The target' })
  })

  test('is refused where its tools are limited by the call or by its caller', () => {
    const loose = withWorld(permitted(), { unrestricted: why })
    const held = { code: 'cannot_restrict', what: 'allowed_tools', agent: 'target', ...why }
    expect(isRefusal(decide(loose))).toBe(false)
    expect(refusal(withRequest(loose, { allowedTools: ['read'] }))).toEqual(held)
    expect(refusal(withGrant(loose, { authority: { tools: ['read'], nested: true } }))).toEqual(held)
    expect(isRefusal(decide(withRequest(permitted(), { allowedTools: ['read'] })))).toBe(false)
  })
})

test('an agent that is not on the list is refused by its own name, with the list', () => {
  const listed = withAgent(permitted(), { mayCall: ['other'] })
  expect(refusal(listed)).toEqual({
    code: 'not_allowed',
    agent: 'caller',
    what: 'call target',
    allowed: ['other'],
  })
  const unknown = withRequest(listed, { targetAgent: undefined, targetName: 'nobody' })
  expect(refusal(unknown)).toMatchObject({ code: 'not_allowed', what: 'call nobody' })
  expect(
    refusal(
      withRequest(withAgent(permitted(), { mayCall: ['nobody'] }), {
        targetAgent: undefined,
        targetName: 'nobody',
      }),
    ),
  ).toEqual({ code: 'agent_unknown', agent: 'nobody', known: ['caller', 'target'] })
})

test('R7: one subagent below another is refused by the limit of that tool, and other tools are not', () => {
  const nested = withGrant(withRequest(permitted(), { tool: 'subagent' }), { subagentDepth: 1 })
  expect(refusal(nested)).toEqual({ code: 'call_too_deep', depth: 2, depthMax: 1, limit: 'subagent' })
  expect(isRefusal(decide(withRequest(nested, { tool: 'sub_agent' })))).toBe(false)
  expect(isRefusal(decide(withGrant(nested, { subagentDepth: 0 })))).toBe(false)
})

describe('which limit binds a call', () => {
  const bound = (one: Case): unknown => {
    const decision = decide(one)
    return isRefusal(decision) ? decision.code : [decision.boundBy, decision.deadline - 1_000_000]
  }
  const asking = (timeoutMs: number, more: Partial<Case['request']> = {}): Case =>
    withRequest(permitted(), { timeoutMs, ...more })
  const called = permitted().facts.caller.turn.call as NonNullable<TurnRow['call']>
  const long = (one: Case): Case =>
    withTurn(one, { deadline: 9_000_000, call: { ...called, deadline: 9_000_000 } })

  test.each<[string, Case, [string, number]]>([
    ['what was asked for', asking(30_000), ['request', 30_000]],
    ['a part of a millisecond less', asking(30_000.9), ['request', 30_000]],
    ['the default', asking(30_000, { timeoutBy: 'default' }), ['default', 30_000]],
    ['what is left of the caller', asking(200_000), ['caller', 98_000]],
    ['the most that there is', long(asking(400_000)), ['ceiling', 300_000]],
    ['just what there is', long(asking(300_000)), ['request', 300_000]],
    ['just less than there is', long(asking(299_999)), ['request', 299_999]],
  ])('%s', (_what, one, expected) => expect(bound(one)).toEqual(expected))

  test('the deadline of a turn that nobody called is its own', () => {
    expect(bound(withTurn(asking(400_000), { call: null }))).toEqual(['caller', 198_000])
    expect(bound(withTurn(asking(400_000), { deadline: 1_050_000 }))).toEqual(['caller', 48_000])
  })
})

test('the first rule that says no is the refusal', () => {
  const late = withTurn(permitted(), { state: 'ended' })
  expect(refusal(withWorld(late, { unavailable: { why: 'w', cure: 'c' } })).code).toBe('call_ended')
})
