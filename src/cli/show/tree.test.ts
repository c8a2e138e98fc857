import { describe, expect, test } from 'vitest'
import { stripVTControlCharacters } from 'node:util'
import type { Event, Grant, StoredEvent } from '../../model/event.ts'
import type { CallId, TurnId } from '../../model/id.ts'
import type { Json } from '../../model/json.ts'
import { renderCalls } from './face.ts'
import { renderControls } from './terminal.ts'
import { renderTree } from './tree-lines.ts'
import type { Delta } from '../../wire/log.ts'
import { emptyTree, foldDelta, foldEvent, buildNodes, sumTokens, withoutClients, type Tree } from './tree.ts'
import { displayWidth } from './width.ts'

const at0 = 1_000_000
const turn = (name: string): TurnId => `turn_${name}`
const callId = (name: string): CallId => `call_${name}`

/** An event with the fields that the tree reads; `at` is in milliseconds after the start. */
const stored = (at: number, event: Partial<Event> & Pick<Event, 'type'>): StoredEvent => ({
  seq: 0,
  at: at0 + at,
  event: event as Event,
})

const grant = (...agents: string[]): Grant => ({
  agent: agents.at(-1) ?? '',
  depth: agents.length - 1,
  subagentDepth: 0,
  path: agents.map((agent) => ({ session: `ses_${agent}`, agent })),
  authority: { tools: null, nested: true },
  tokensMax: null,
  maxIterations: 16,
})
const place = (name: string): Pick<Event, 'session' | 'turn'> => ({
  session: `ses_${name}`,
  turn: turn(name),
})

const sent = (at: number, name: string, text: string) =>
  stored(at, {
    type: 'message.sent',
    ...place(name),
    message: 'msg_1',
    flow: 'flow_1',
    from: null,
    source: 'user',
    text,
    tokens: 5,
    grant: grant(name),
  })
const started = (at: number, name: string, deadline: number) =>
  stored(at, { type: 'turn.started', ...place(name), node: 'node_1', epoch: 1, deadline: at0 + deadline })
const opened = (at: number, path: string[], task: string, deadline: number, background = false) =>
  stored(at, {
    type: 'call.opened',
    ...place(path.at(-2) ?? ''),
    call: callId(path.at(-1) ?? ''),
    key: `k-${path.join()}`,
    flow: 'flow_1',
    target: `ses_${path.at(-1)}`,
    tool: 'sub_agent',
    task,
    taskHash: 'h',
    input: null,
    background,
    outputSchema: null,
    requested: {},
    deadline: at0 + deadline,
    grant: grant(...path),
  })
const ended = (at: number, caller: string, name: string, more: object = {}) =>
  stored(at, {
    type: 'call.ended',
    ...place(caller),
    call: callId(name),
    target: `ses_${name}`,
    outcome: 'completed',
    output: 'done',
    outputBytes: 4,
    truncated: false,
    errors: [],
    toolCalls: [],
    tokensUsed: 100,
    iterations: 1,
    openedAt: at0,
    endedAt: at0 + at,
    cause: 'answered',
    ...more,
  })
const asked = (at: number, name: string, input: number, output: number) =>
  stored(at, {
    type: 'step.ended',
    ...place(name),
    kind: 'model',
    name: 'scripted',
    key: `m${at}`,
    input: null,
    ok: true,
    output: {},
    usage: { input, output, estimated: true },
    startedAt: at0,
  })
const tool = (
  at: number,
  name: string,
  type: 'step.started' | 'step.ended',
  toolName: string,
  input: Json,
  ok = true,
) =>
  stored(at, {
    type,
    ...place(name),
    kind: 'tool',
    name: toolName,
    key: `${toolName}-${JSON.stringify(input)}`,
    input,
    ...(type === 'step.ended' ? { ok, output: {}, usage: null, startedAt: at0 } : {}),
  })
const rootEnded = (at: number, name: string, more: object = {}) =>
  stored(at, {
    type: 'turn.ended',
    ...place(name),
    outcome: 'completed',
    output: 'All done.',
    error: null,
    tokensUsed: 50,
    tokensBelow: 200,
    iterations: 2,
    toolCalls: ['sub_agent'],
    ...more,
  })
const delta = (name: string, step: number, text: string): Delta => ({
  session: `ses_${name}`,
  turn: turn(name),
  epoch: 1,
  step,
  offset: 0,
  text,
})

const fold = (events: readonly StoredEvent[], tree: Tree = emptyTree): Tree => events.reduce(foldEvent, tree)
const lines = (tree: Tree, now: number, width = 71, rows = 40): string[] =>
  renderTree(tree, at0 + now, { width, rows, colour: false })
function plain(events: readonly StoredEvent[]): string[] {
  let tree = emptyTree
  return events.flatMap((event) => {
    const shown = renderCalls(tree, event)
    tree = foldEvent(tree, event)
    return shown
  })
}

const oneCall = [
  sent(0, 'planner', 'Build it.'),
  started(0, 'planner', 3_600_000),
  asked(500, 'planner', 600, 40),
  opened(500, ['planner', 'coder'], 'Write a.mjs', 60_500),
  started(500, 'coder', 60_500),
]

describe('one call', () => {
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
    // A connection that was made anew begins with what was said so far.
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
})

describe('several calls', () => {
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

  test('a turn that asks a person says so until it is answered, and an event of a later version changes nothing', () => {
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
})

describe('ends that are no success', () => {
  const refused = stored(600, {
    type: 'call.refused',
    ...place('planner'),
    call: callId('no'),
    key: 'k',
    tool: 'sub_agent',
    agent: 'ghost',
    task: 'Boo',
    taskHash: 'h',
    requested: {},
    refusal: { code: 'agent_unknown', agent: 'ghost', known: ['coder'] },
  })

  test('a refused call is shown with what the caller was told', () => {
    expect(lines(fold([...oneCall, refused]), 700).slice(-2)).toEqual([
      '└─✗ ghost  Boo                                      0.0s       0 tokens',
      '      refused: There is no agent "ghost". Known agents: coder.',
    ])
    expect(plain([...oneCall, refused]).slice(1)).toEqual([
      'planner calling ghost with task: Boo',
      'ghost returned: FAILED (0 tokens, 0s)',
      '  Error: There is no agent "ghost". Known agents: coder.',
    ])
  })

  test('a timeout keeps what the callee had said, and what comes later changes nothing', () => {
    const late = [
      ended(60_500, 'planner', 'coder', {
        outcome: 'timed_out',
        output: 'Half of it',
        errors: ['timed_out: no answer within 60000 ms'],
      }),
      ended(61_000, 'planner', 'coder', { output: 'too late' }),
    ]
    const tree = fold([...oneCall, ...late])
    expect(lines(tree, 62_000).at(-1)).toBe('      timed out: no answer within 60000 ms · Half of it')
    expect(plain([...oneCall, ...late.slice(0, 1)]).slice(1)).toEqual([
      'coder returned: FAILED (100 tokens, 61s)',
      '  Error: timed_out: no answer within 60000 ms',
    ])
  })

  test('a cancel is seen at once, and the tree ends with everything below', () => {
    const told = stored(1000, {
      type: 'turn.cancelled',
      ...place('planner'),
      outcome: 'cancelled',
      cause: 'interrupted by the user',
    })
    expect(lines(fold([...oneCall, told]), 1000)[1]).toContain('stopping')
    const over = [
      told,
      ended(1000, 'planner', 'coder', {
        outcome: 'cancelled',
        output: '',
        errors: ['the turn that made it was stopped (cancelled)'],
      }),
      rootEnded(1010, 'planner', {
        outcome: 'cancelled',
        output: '',
        error: 'cancelled: the turn was stopped',
      }),
    ]
    expect(lines(fold([...oneCall, ...over]), 2000).map((line) => line.slice(0, 62).trimEnd())).toEqual([
      '✗ planner  Build it.                                1.0s     2',
      '│   cancelled: the turn was stopped',
      '└─✗ coder  Write a.mjs                              1.0s     1',
      '      cancelled: the turn that made it was stopped (cancelled)',
    ])
  })

  test('a deadline that is near is told in seconds, and never below zero', () => {
    expect(lines(fold(oneCall), 60_000)[3]).toMatch(/ 1s left$/)
    expect(lines(fold(oneCall), 99_000)[3]).toMatch(/ 0s left$/)
  })
})

describe('text of others', () => {
  const nasty = [
    sent(0, 'planner', '世界の全ての👩‍👩‍👧‍👦 and\u001b[2J\u0007 an escape\nsecond line'),
    started(0, 'planner', 5000),
  ]

  test.each([30, 41, 60, 80, 120])(
    'wide, combined and control characters never break a line of %i columns',
    (width) => {
      const tree = foldDelta(
        fold([...nasty, opened(1, ['planner', 'coder'], `${'é'.repeat(200)}${'🙂'.repeat(200)}`, 4000)]),
        delta('planner', 1, '漢'.repeat(300)),
      )
      for (const line of lines(tree, 10, width)) {
        expect(displayWidth(line)).toBeLessThanOrEqual(width)
        expect(line).not.toMatch(/\p{Control}/u)
        expect(line.isWellFormed()).toBe(true)
      }
    },
  )

  test('colours add nothing but colours', () => {
    const tree = fold([...nasty, ...oneCall.slice(3)])
    const view = { width: 80, rows: 40 }
    expect(renderTree(tree, at0, { ...view, colour: true }).map(stripVTControlCharacters)).toEqual(
      renderTree(tree, at0, { ...view, colour: false }),
    )
    expect(
      renderTree(tree, at0, { ...view, colour: true })
        .map(renderControls)
        .join(''),
    ).toContain('\u001b[1mplanner\u001b[22m')
  })

  test('a long task is cut between code points in plain lines', () => {
    const [line = ''] = plain([
      ...oneCall.slice(0, 3),
      opened(1, ['planner', 'coder'], '🙂'.repeat(300), 4000),
    ])
    expect(line).toBe(`planner calling coder with task: ${'🙂'.repeat(200)}…`)
  })
})
