/** What a calling model reads, word for word: recorded tool results hold these texts, and models act on them. */
import { describe, expect, test } from 'vitest'
import { samples } from '../../test/kits/refusal-samples.ts'
import {
  agentUnknown,
  badInput,
  explain,
  isRefusal,
  isRefusalCode,
  shorten,
  type Refusal,
} from './refusal.ts'

const texts: Record<keyof typeof samples, string> = {
  bad_input: 'task: 3 was given, but it must be a text. Correct it and try again.',
  self_call:
    'An agent cannot call itself or write to itself (coder). Do this part yourself, or turn to another agent.',
  reply_not_addressed:
    'Message msg_1 was not addressed to you and accepted by you, so you cannot reply to it. ' +
    'Send a new message instead.',
  not_authenticated: 'A valid token is needed. Ask the user for one.',
  cannot_restrict:
    '/bin/sh was not started: it must run in a sandbox, and there is none here, because bwrap is missing. ' +
    'Go on without it, and tell the user: Install it.',
  not_allowed:
    'coder may not call root. Do the work yourself, or tell the user that the configuration forbids it.',
  tool_disabled: 'The tool shell is not available here: it is off. Go on without it.',
  message_not_yours:
    'Message msg_1 belongs to another session. Only its owner can change it. ' +
    'Send a message of your own instead.',
  agent_unavailable:
    'codex cannot be called now: Codex is not installed. Go on without it or call another agent, ' +
    'and tell the user: npm install -g @openai/codex.',
  agent_unknown: 'There is no agent "codre"; the nearest known one is "coder". Known agents: coder, planner.',
  project_untrusted:
    'The agent "coder" stands in /work/tieline.toml, which is not used: nobody has agreed to it yet. ' +
    'Tell the user to look at it and to run "tieline trust" in that directory; after that it can be called. ' +
    'Go on without it.',
  session_unknown: 'There is no session "ses_1". List the sessions and use one of their ids.',
  message_unknown: 'There is no message "msg_1". List the messages and use one of their ids.',
  call_unknown: 'There is no call "call_1" of yours. Use the call_id that the call returned.',
  session_ambiguous: '"a" fits several sessions: ses_a1, ses_a2. Use a whole id.',
  session_busy: 'Session ses_1 is busy. Send without delivery "now" to queue, or try later.',
  call_cycle:
    'This call would come back to an agent that is waiting for it: a -> b -> a. ' +
    'Answer with what you have instead; your caller gets it.',
  call_deadlock:
    'This call would wait in a ring: a -> b -> a. ' +
    'Answer with what you have instead: when your own turn ends, the others can go on.',
  call_too_deep: 'This call would be 6 hops deep; the server allows 5. Do this part yourself.',
  call_ended: 'Nobody waits for this any more: it was cancelled. Stop and finish.',
  task_repeated:
    'This is the task you were given, word for word, handed on to coder. ' +
    'Do it, or hand on a smaller part of it.',
  message_already_sent: 'Message msg_1 was sent already and cannot be changed. Send a new one.',
  message_changed: 'Message msg_1 was changed after you read it. Check what it says now, and try again.',
  message_taken:
    'Message msg_1 does not wait any more: it was accepted by ses_2. List the inbox and take another.',
  flow_expired:
    'The last input of a user is 4000 s old; agents may write to each other for 3600 s after it. ' +
    'Stop, and wait for the user.',
  too_large:
    'task has 200000 bytes; at most 102400 are taken. Shorten it, or put it into a file and pass the path.',
  context_too_large:
    "The child's context needs 5000 tokens (task 4500, prompt 500) without any message; " +
    'max_context_tokens is 4000. Shorten the task or raise max_context_tokens.',
  output_invalid:
    'The output does not satisfy output_schema: /a must be a number. ' +
    'Ask again with a simpler schema, or without one.',
  too_many_calls: '10 calls of yours are open; at most 10 may be. Wait for one to end.',
  queue_full: 'Session ses_1 has 100 inputs waiting; at most 100 may. Try later, or use another agent.',
  too_many_descendants:
    'This request has created 100 sessions; at most 100 are allowed. Do the rest yourself.',
  too_many_agents:
    '1000 agents were made by API; at most 1000 may be. ' +
    'Use one that is there, or delete one with DELETE /v1/agents/:id.',
  question_unknown: 'There is no question "question_1". List the open questions and use one of their ids.',
  question_answered: 'Question question_1 was answered already: deny, by the user. Go on with that answer.',
  rate_limited: 'More than 120 calls a minute in this flow. Try again in 2 s, or do it yourself.',
  budget_exhausted: '100 tokens are needed and 3 are left of the budget. Finish with what you have.',
  store_unavailable:
    'Nothing can be recorded now: the disk is full (/data/tieline.db, 1.2 MB free). ' +
    'Free some space on it. Try again in 2 s, with the same key or id.',
}

test.each(Object.entries(texts))('%s', (code, text) => {
  expect(explain(samples[code as keyof typeof samples])).toBe(text)
})

const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `a${n}`)

describe('a text that has another form', () => {
  test.each<[string, Refusal, string]>([
    [
      'a field that does not exist',
      {
        code: 'bad_input',
        field: 'tsk',
        given: 'a field that does not exist',
        expected: 'the known ones are task',
      },
      'There is no field "tsk"; the known ones are task. Correct it and try again.',
    ],
    [
      'a field that is missing',
      { code: 'bad_input', field: 'task', given: 'nothing', expected: 'a text,' },
      'task is missing: it must be a text. Add it and try again.',
    ],
    [
      'a field that must be left out',
      { code: 'bad_input', field: 'x', given: '1', expected: 'nothing' },
      'x: 1 was given, but it must be left out. Correct it and try again.',
    ],
    [
      'what ends with a comma, and nothing inside of it',
      { code: 'bad_input', field: 'x', given: '1', expected: 'a text, or nothing,' },
      'x: 1 was given, but it must be a text, or nothing. Correct it and try again.',
    ],
    [
      'why a token is needed',
      { code: 'not_authenticated', why: 'The server is reached from outside' },
      'The server is reached from outside, so it needs a token. Inside a turn send the one in $TIELINE_TOKEN ' +
        'as "Authorization: Bearer …"; otherwise the one in the file "token" of the server\'s data directory.',
    ],
    [
      'what is allowed',
      { code: 'not_allowed', agent: 'coder', what: 'call root', allowed: ['planner', 'tester'] },
      'coder may not call root. Allowed: planner, tester.',
    ],
    [
      'a limit that a driver cannot keep',
      {
        code: 'cannot_restrict',
        what: 'allowed_tools',
        why: 'it has its own',
        cure: 'leave it out',
        agent: 'c',
      },
      'c was not called: allowed_tools cannot be kept for it, because it has its own. Instead, leave it out.',
    ],
    [
      'no agent at all',
      { code: 'agent_unknown', agent: 'x', known: [] },
      'There is no agent "x". No agents are configured. Do the work yourself, or tell the user.',
    ],
    [
      'more agents than are listed',
      { code: 'agent_unknown', agent: 'zzzzzz', known: names(21) },
      `There is no agent "zzzzzz". Known agents: ${names(20).join(', ')} and 1 more.`,
    ],
    [
      'as many agents as are listed',
      { code: 'agent_unknown', agent: 'zzzzzz', known: names(20) },
      `There is no agent "zzzzzz". Known agents: ${names(20).join(', ')}.`,
    ],
    [
      'no address at all',
      { code: 'session_unknown', session: 'a@b', candidates: [] },
      'No client has worked at "a@b". No address is registered yet: use the id of a session.',
    ],
    [
      'other addresses',
      { code: 'session_unknown', session: 'a@b', candidates: ['a@/c', 'd@/b'] },
      'No client has worked at "a@b". Known addresses: a@/c, d@/b. Use one of them, ' +
        'the whole path of the directory after the @, or the id of a session.',
    ],
    [
      'several problems',
      { code: 'output_invalid', problems: ['/a must be a number', '/b is missing'] },
      'The output does not satisfy output_schema: /a must be a number; /b is missing. ' +
        'Ask again with a simpler schema, or without one.',
    ],
    [
      'money',
      { code: 'budget_exhausted', needed: 1, left: 0, usd: { max: 2_000_000_000, used: 1_500_000_000 } },
      'Of the budget of $2.00, $1.50 is spent or held by calls, and nothing is left. Finish with what you have.',
    ],
    [
      'the money of a day',
      { code: 'budget_exhausted', needed: 1, left: 0, usd: { max: 2e9, used: 2e9, day: 'project' } },
      'The project may spend $2.00 a day, and $2.00 of today (UTC) is spent. Finish with what you have: more can ' +
        'be spent after midnight UTC, or once a person has raised [limits] dayUsdMax.',
    ],
    [
      'a little more than a second',
      { code: 'rate_limited', what: 'calls', perMinute: 120, retryInMs: 1001 },
      'More than 120 calls a minute in this flow. Try again in 2 s, or do it yourself.',
    ],
    [
      'a configuration with a mistake',
      { code: 'project_untrusted', agent: 'a', file: '/b/tieline.toml', why: 'it has a mistake: no TOML' },
      'The agent "a" stands in /b/tieline.toml, which is not used: it has a mistake: no TOML. ' +
        'Tell the user to correct it; after that it can be called. Go on without it.',
    ],
    [
      'a large disk that fails',
      { ...samples.store_unavailable, freeBytes: 1e12, retryInMs: 1001 },
      'Nothing can be recorded now: the disk is full (/data/tieline.db, 1000000.0 MB free). ' +
        'Free some space on it. Try again in 2 s, with the same key or id.',
    ],
    [
      'a disk that nobody knows',
      { ...samples.store_unavailable, freeBytes: null, retryInMs: 1000 },
      'Nothing can be recorded now: the disk is full (/data/tieline.db). Free some space on it. ' +
        'Try again in 1 s, with the same key or id.',
    ],
  ])('%s', (_what, refusal, text) => expect(explain(refusal)).toBe(text))
})

describe('what was given is said', () => {
  test.each<[unknown, string]>([
    [undefined, 'nothing'],
    ['', 'an empty text'],
    ['a "b"', String.raw`"a \"b\""`],
    ['x'.repeat(80), `"${'x'.repeat(80)}"`],
    ['x'.repeat(81), `"${'x'.repeat(80)}…"`],
    [3, '3'],
    [null, 'null'],
    [['x'.repeat(100)], `["${'x'.repeat(78)}…`],
  ])('%j as %s', (given, said) => {
    expect(badInput('task', given, 'a text')).toEqual({
      code: 'bad_input',
      field: 'task',
      given: said,
      expected: 'a text',
    })
  })

  test('shortened behind eighty characters', () => {
    expect(shorten('😀'.repeat(80))).toBe('😀'.repeat(80))
    expect(shorten('😀'.repeat(81))).toBe(`${'😀'.repeat(80)}…`)
  })
})

test('what is a refusal, and what is the code of one', () => {
  expect(isRefusal({ code: 'self_call' })).toBe(true)
  expect(isRefusal({ value: 1 })).toBe(false)
  expect(['self_call', 'constructor', 'no', 7, undefined].map(isRefusalCode)).toEqual([
    true,
    false,
    false,
    false,
    false,
  ])
})

test('an agent that is not known may stand in a configuration that is not used', () => {
  const project = { file: '/a/tieline.toml', state: 'new', agents: ['writer'] } as const
  const untrusted = {
    code: 'project_untrusted',
    agent: 'writer',
    file: '/a/tieline.toml',
    why: 'nobody has agreed to it yet',
  }
  expect(agentUnknown('writer', ['a'], [project])).toEqual(untrusted)
  expect(agentUnknown('other', ['a'], [project])).toEqual({
    code: 'agent_unknown',
    agent: 'other',
    known: ['a'],
  })
  const broken = { file: '/b/tieline.toml', state: 'broken', agents: [], problem: 'no TOML' } as const
  expect(agentUnknown('other', [], [project, broken])).toEqual({
    code: 'project_untrusted',
    agent: 'other',
    file: '/b/tieline.toml',
    why: 'it has a mistake: no TOML',
  })
  expect(agentUnknown('x', names(51))).toEqual({ code: 'agent_unknown', agent: 'x', known: names(50) })
})
