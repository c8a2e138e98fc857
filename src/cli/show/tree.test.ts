import { expect, test } from 'vitest'
import type { Event } from '../../model/event.ts'
import {
  asked,
  at0,
  delta,
  ended,
  fold,
  lines,
  oneCall,
  opened,
  place,
  plain,
  rootEnded,
  sent,
  started,
  stored,
  tool,
} from '../../../test/kits/tree.ts'
import { buildNodes, emptyTree, foldDelta, foldEvent, sumTokens, withoutClients } from './tree.ts'

test('the caller waits, the callee thinks, and both show their time, tokens and deadline', () => {
  expect(lines(fold(oneCall), 2000)).toEqual([
    '‖ planner  Build it.                                2.0s     640 tokens',
    '│   waits for coder                                            59m left',
    '└─⠋ coder  Write a.mjs                              1.5s       0 tokens',
    '      thinking                                                 59s left',
  ])
})

test('a tool is shown while it runs, with the last line that was said', () => {
  const tree = foldDelta(
    fold([...oneCall, asked(900, 'coder', 90, 10)]),
    delta('coder', 1, 'First.\nNow the tests.'),
  )
  const running = foldEvent(
    tree,
    tool(900, 'coder', 'step.started', 'shell', { command: "'/opt/a b/node' --test a.test.mjs" }),
  )
  expect(lines(running, 1000)[3]).toBe(
    '      shell node --test a.test.mjs · Now the tests.            60s left',
  )
  const failed = foldEvent(
    running,
    tool(950, 'coder', 'step.ended', 'shell', { command: "'/opt/a b/node' --test a.test.mjs" }, false),
  )
  expect(lines(failed, 1000)[3]).toContain('shell node --test a.test.mjs ✗ · Now the tests.')
})

test('the pieces of one answer are put together, and the next answer takes their place', () => {
  const first = [delta('coder', 1, 'Hello '), { ...delta('coder', 1, 'there'), offset: 6 }].reduce(
    foldDelta,
    fold(oneCall),
  )
  expect(lines(first, 1000)[3]).toContain('Hello there')
  // A new connection begins with what was said so far.
  expect(lines(foldDelta(first, delta('coder', 1, 'Hello there, you')), 1000)[3]).toMatch(
    /^ {6}Hello there, you /,
  )
  expect(lines(foldDelta(first, delta('coder', 2, 'Next')), 1000)[3]).toMatch(/^ {6}Next /)
  const again = foldDelta(first, { ...delta('coder', 1, 'Rerun'), epoch: 2 })
  expect(lines(again, 1000)[3]).toMatch(/^ {6}Rerun /)
})

test('text that streams before its call is known is not lost', () => {
  const early = foldDelta(emptyTree, delta('coder', 1, 'Already talking'))
  expect(lines(fold(oneCall, early), 1000)[3]).toContain('Already talking')
})

test('at the end there is what was used and what came of it', () => {
  const tree = fold([
    ...oneCall,
    ended(2500, 'planner', 'coder', { toolCalls: ['write', 'shell'], output: '\n  Written.\nMore.' }),
    rootEnded(3000, 'planner'),
  ])
  expect(lines(tree, 9000)).toEqual([
    '✓ planner  Build it.                                3.0s     250 tokens',
    '│   sub_agent · All done.',
    '└─✓ coder  Write a.mjs                              2.5s     100 tokens',
    '      write, shell · Written.',
  ])
  expect(buildNodes(tree).map((node) => [node.agent, sumTokens(tree, node)])).toEqual([
    ['planner', 250],
    ['coder', 100],
  ])
})

test('plain lines have the shapes that scripts look for', () => {
  expect(
    plain([
      ...oneCall,
      ended(12_500, 'planner', 'coder', {
        toolCalls: ['write', 'shell'],
        tokensUsed: 3245,
        openedAt: at0 + 500,
      }),
    ]),
  ).toEqual([
    'planner calling coder with task: Write a.mjs',
    'coder returned: SUCCESS (3245 tokens, 12s)',
    '  Tools used: write, shell',
  ])
})

const both = [
  ...oneCall,
  opened(510, ['planner', 'tester'], 'Test a.mjs', 30_500),
  opened(520, ['planner', 'coder', 'typist'], 'Type', 20_000),
  started(520, 'typist', 20_000),
]

test('parallel calls stand side by side, names in one column, and branches lead to each', () => {
  expect(lines(fold(both), 1000).map((line) => line.slice(0, 30).trimEnd())).toEqual([
    '‖ planner  Build it.',
    '│   waits for coder, tester',
    '├─‖ coder   Write a.mjs',
    '│ │   waits for typist',
    '│ └─⠋ typist  Type',
    '│       thinking',
    '└─· tester  Test a.mjs',
    '      waits for its turn',
  ])
})

test('a call in the background does not make its caller wait, until it asks for it', () => {
  const background = [
    sent(0, 'planner', 'x'),
    started(0, 'planner', 1000),
    opened(1, ['planner', 'coder'], 'y', 1000, true),
  ]
  expect(lines(fold(background), 10)[0]).toMatch(/^⠋ planner/)
  const waiting = [
    ...background,
    stored(2, { type: 'wait.started', ...place('planner'), target: 'ses_coder', until: at0 + 500 }),
  ]
  expect(lines(fold(waiting), 10)[0]).toMatch(/^‖ planner/)
  expect(
    lines(
      fold([
        ...waiting,
        stored(3, { type: 'wait.ended', ...place('planner'), target: 'ses_coder', reason: 'time is over' }),
      ]),
      10,
    )[0],
  ).toMatch(/^⠋ planner/)
})

test('a client outside is left out, and its calls stand in its place', () => {
  const client = [
    sent(0, 'external', 'sub_agent coder: go'),
    started(0, 'external', 1000),
    opened(1, ['external', 'coder'], 'go', 1000),
    started(1, 'coder', 1000),
    sent(2, 'planner', 'x'),
  ]
  const tree = fold(client)
  expect(lines(withoutClients(tree), 10).map((line) => line.slice(0, 9))).toEqual([
    '⠋ coder  ',
    '    think',
    '· planner',
    '    waits',
  ])
  expect(withoutClients(fold(client.slice(0, 2))).roots).toEqual([])
})

test('a turn that asks a person says so until the answer; an unknown event changes nothing', () => {
  const question = {
    question: 'q1',
    key: 'k',
    agent: 'coder',
    tool: 'shell',
    input: {},
    path: ['planner', 'coder'],
    flow: 'flow_1' as const,
    deadline: 1,
  }
  const asking = fold([...oneCall, stored(600, { type: 'question.asked', ...place('coder'), ...question })])
  expect(lines(asking, 700)[3]).toContain('asks whether it may use shell')
  const told = fold(
    [
      stored(700, {
        type: 'question.answered',
        ...place('coder'),
        question: 'q1',
        answer: 'deny',
        by: 'user',
      }),
    ],
    asking,
  )
  expect(lines(told, 800)[3]).toContain('thinking')
  expect(fold([{ seq: 0, at: 0, event: { type: 'later.happened' } as unknown as Event }], told)).toBe(told)
})

test('two roots are two trees', () => {
  expect(
    lines(fold([...oneCall, sent(600, 'alone', 'Build it.')]), 700)
      .filter((line) => !line.startsWith(' ') && !/^[│└]/.test(line))
      .map((line) => line.slice(0, 9)),
  ).toEqual(['‖ planner', '· alone  '])
})

test('what does not fit is folded away: first the second lines of what has ended, then the top', () => {
  const tree = fold([...both, ended(700, 'coder', 'typist'), ended(800, 'planner', 'coder')])
  expect(lines(tree, 900, 71, 6)).toHaveLength(6)
  expect(lines(tree, 900, 71, 6).join('\n')).not.toContain('· done')
  const cut = lines(tree, 900, 71, 4)
  expect(cut).toHaveLength(4)
  expect(cut[0]).toBe('… 3 lines above')
  expect(cut.at(-1)).toContain('waits for its turn')
})
