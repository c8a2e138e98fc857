import { expect, test } from 'vitest'
import { Agent } from './agent.ts'
import type { Grant } from './event.ts'
import { type Refusal, type RefusalCode } from './refusal.ts'
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
import { codeOf, decide, refusal } from '../../test/kits/calls.ts'

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

test('R11: a call that makes one session too many is refused, after the open calls and before the rate', () => {
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
