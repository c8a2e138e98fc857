/** Calls that do not succeed, and text that agents wrote, in the tree and in plain lines. */
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import {
  at0,
  callId,
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
} from '../../../test/kits/tree.ts'
import { renderControls } from './terminal.ts'
import { renderTree } from './tree-lines.ts'
import { foldDelta } from './tree.ts'
import { displayWidth } from './width.ts'

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
