import { describe, expect, test } from 'vitest'
import type { CallRecord } from '../../wire/calls.ts'
import type { Flow } from '../../wire/log.ts'
import { buildTree, nameClients } from './flow-tree.ts'
import { collectCalls } from './report.ts'
import { renderTree } from './tree-lines.ts'

const record = (
  call: string,
  callerSession: string,
  at: number,
  more: Partial<CallRecord> = {},
): CallRecord => ({
  call: `call_${call}`,
  flow: 'flow_1',
  tool: 'sub_agent',
  caller: 'planner',
  callerSession,
  target: call,
  targetSession: `ses_${call}`,
  task: `do ${call}`,
  taskHash: '',
  input: null,
  requested: {},
  outcome: 'completed',
  success: true,
  output: `${call} done`,
  output_preview: '',
  outputBytes: 0,
  truncated: false,
  errors: [],
  toolCalls: ['read'],
  tokensUsed: 100,
  cost: { usd: null, planUsd: 0, unpricedTokens: 100 },
  iterations: 1,
  depth: 1,
  path: [],
  allowedTools: null,
  nested: false,
  tokensMax: null,
  deadline: at + 60_000,
  created_at: at,
  endedAt: at + 1000,
  durationMs: 1000,
  context: null,
  refusal: null,
  ...more,
})
const flow = (calls: CallRecord[], more: Partial<Flow['root']> = {}): Flow => ({
  flow: 'flow_1',
  root: {
    turn: 'turn_1',
    session: 'ses_root',
    agent: 'planner',
    askedBy: 'you',
    title: 'Build it.',
    task: 'Build it.',
    cwd: '/',
    error: null,
    output: 'Built.',
    text: 'Build it.',
    outcome: 'completed',
    openedAt: 0,
    endedAt: 5000,
    ...more,
  },
  calls,
  messages: [],
  tokensUsed: 300,
  cost: { usd: null, planUsd: 0, unpricedTokens: 300 },
  durationMs: 5000,
  state: 'ended',
  waitsFor: '',
})
const lines = (flows: Flow[], id: string, now = 9000): string[] =>
  renderTree(buildTree(flows, id), now, { width: 60, rows: 99, colour: false })

describe('the tree of a flow from its record', () => {
  const whole = flow([
    record('reviewer', 'ses_coder', 1500),
    record('coder', 'ses_root', 1000),
    record('tester', 'ses_root', 3000, { outcome: 'timed_out', errors: ['timed_out: no answer within 1 s'] }),
  ])

  test('has every call below the one who made it, in the order in which they were made', () => {
    expect(lines([whole], 'flow_1').map((line) => line.slice(0, 22).trimEnd())).toEqual([
      '✓ planner  Build it.',
      '│   Built.',
      '├─✓ coder   do coder',
      '│ │   read · coder don',
      '│ └─✓ reviewer  do rev',
      '│       read · reviewe',
      '└─✗ tester  do tester',
      '      timed out: no an',
    ])
    expect(collectCalls(buildTree([whole], 'flow_1')).map(({ caller, agent }) => [caller, agent])).toEqual([
      ['planner', 'coder'],
      ['coder', 'reviewer'],
      ['planner', 'tester'],
    ])
  })

  test('for one call is that call and what is below it', () => {
    expect(lines([whole], 'call_coder').map((line) => line.slice(0, 12).trimEnd())).toEqual([
      '✓ coder  do',
      '│   read · c',
      '└─✓ reviewer',
      '      read ·',
    ])
  })

  test('a call that runs has no end yet, and shows what is left of its time', () => {
    const running = flow([record('coder', 'ses_root', 1000, { outcome: null, endedAt: null })], {
      outcome: null,
      endedAt: null,
    })
    expect(lines([running], 'flow_1', 2000)[0]).toMatch(/^‖ planner/)
    expect(lines([running], 'flow_1', 2000)[3]).toMatch(/59s left$/)
  })
})

test('a request that was refused did not say why', () => {
  const refused = flow([], { agent: 'external', outcome: 'refused', error: 'There is no agent "coder".' })
  const lines = renderTree(buildTree([refused], 'flow_1'), 0, { width: 100, rows: 100, colour: false })
  expect(lines.join('\n')).toContain('There is no agent "coder".')
})

test('what a client asked for stood below "external" where a person reads', () => {
  const asked = flow([record('coder', 'ses_root', 1000)], { agent: 'external', askedBy: 'claude-code' })
  const [first] = renderTree(nameClients(buildTree([asked], 'flow_1'), [asked]), 0, {
    width: 100,
    rows: 100,
    colour: false,
  })
  expect(first).toMatch(/^✓ claude-code /)
})
