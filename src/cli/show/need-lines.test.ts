import { expect, test } from 'vitest'
import type { FlowSummary } from '../../wire/flows.ts'
import type { Need } from '../../wire/needs.ts'
import { readAnswer } from '../commands/answer.ts'
import { renderFlow } from '../commands/flows.ts'
import { describeRun } from '../chat/end-run.ts'
import { renderNeeds } from './need-lines.ts'
import { shortId } from './short-id.ts'

const need = (more: Partial<Need>): Need => ({
  kind: 'question',
  id: 'question_217073219793-0a1b2c3d',
  at: 0,
  title: 'coder wants to run shell',
  agent: 'coder',
  session: 'ses_1',
  turn: 'turn_1',
  flow: 'flow_1',
  cwd: '/work',
  task: 'Fix the test',
  request: 'Release it',
  path: ['planner', 'coder'],
  lastWords: 'I need a clean tree.',
  tool: 'shell',
  input: { command: `git clean -fdx && ${'x'.repeat(300)} end` },
  text: '',
  to: null,
  version: null,
  outcome: null,
  deadline: 60_000,
  acts: ['allow', 'allow_session', 'deny'],
  ...more,
})

test('a question shows all that is decided on, and what to type', () => {
  const text = renderNeeds([need({})], 0, 80)
  for (const part of ['[asks you]', '/work', 'planner -> coder', 'Release it', 'Fix the test', 'clean tree'])
    expect(text).toContain(part)
  expect(text).toContain('end\n  tieline answer 0a1b2c3d allow')
  expect(text).toContain('60s left')
})

test('what agents write cannot look like our words', () => {
  const text = renderNeeds([need({ lastWords: 'ok\n[asks you] allow it\u001b[2K' })], 0, 80)
  expect(text).toContain('    [asks you] allow it\\u{1b}[2K')
})

test('a failed request and a draft say how to go on', () => {
  const failed = need({ kind: 'failure', id: 'flow_217073219793731942', tool: null, deadline: null })
  expect(renderNeeds([failed], 0, 80)).toContain('tieline flow 731942')
  const draft = need({ kind: 'draft', id: 'msg_1', text: 'y '.repeat(500), tool: null, deadline: null })
  expect(renderNeeds([draft], 0, 80).match(/y/g)?.length).toBeGreaterThanOrEqual(500)
})

test('trust is offered where it can be given, and not for a file that is to be corrected', () => {
  const project = { kind: 'project', id: '/work', input: null, tool: null, deadline: null } as const
  expect(renderNeeds([need({ ...project, acts: ['trust'] })], 0, 80)).toContain('tieline trust /work')
  expect(renderNeeds([need({ ...project, acts: [] })], 0, 80)).not.toContain('tieline trust')
})

const flow: FlowSummary = {
  flow: 'flow_217073219793731942',
  turn: 'turn_217073219793731942',
  session: 'ses_1',
  askedBy: 'you',
  agent: 'planner',
  title: 'Build it',
  task: 'Build it',
  cwd: '/work',
  state: 'asking',
  waitsFor: 'planner waits for a person.',
  outcome: null,
  error: null,
  lastWords: '',
  calls: 1,
  failedCalls: 0,
  tokensUsed: 1234,
  cost: { usd: null, planUsd: 0, unpricedTokens: 1 },
  openedAt: 0,
  endedAt: null,
  durationMs: 5000,
  seen: false,
}

test('a request is a line with its short id and its task, and one with what it waits for', () => {
  expect(renderFlow(flow, 60_000)).toBe(
    '731942  asking  you -> planner  (5.0s, 1,234 tokens)  1m ago  Build it\n        planner waits for a person.',
  )
  const failed = { ...flow, state: 'ended' as const, outcome: 'timed_out' as const, error: 'too slow' }
  expect(renderFlow(failed, 60_000)).toContain('timed out')
  expect(renderFlow(failed, 60_000)).toContain('\n        too slow')
})

test('a run ends with its short id and a link, or with the command where the server ends too', () => {
  expect(describeRun(flow.flow, 'http://127.0.0.1:1')).toBe(
    'flow 731942  http://127.0.0.1:1/#/flows/flow_217073219793731942',
  )
  expect(describeRun(flow.flow, null)).toBe('flow 731942  tieline flow 731942')
  expect(shortId('ses_main')).toBe('ses_main')
})

test('what does not go together is refused', () => {
  expect(readAnswer('allow', true, undefined)).toEqual({ answer: 'allow', scope: 'session' })
  expect(readAnswer('deny', false, 'no')).toEqual({ answer: 'deny', reason: 'no' })
  expect(() => readAnswer('deny', true, undefined)).toThrow('--for-session')
  expect(() => readAnswer('allow', false, 'x')).toThrow('--reason')
  expect(() => readAnswer('maybe', false, undefined)).toThrow('allow or deny')
})
