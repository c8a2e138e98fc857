import { describe, expect, test } from 'vitest'
import type { Event } from './event.ts'
import type { NodeId } from './id.ts'
import { diedTwice, diedTwiceError, runTypes } from './runs.ts'

const place = { session: 'ses_a', turn: 'turn_a' } as const
const started = (node: NodeId): Event => ({ type: 'turn.started', ...place, node, epoch: 1, deadline: 0 })
const claimed = (node: NodeId): Event => ({ type: 'session.claimed', ...place, node, epoch: 2 })
const suspended = (node: NodeId): Event => ({ type: 'turn.suspended', ...place, node, epoch: 1 })
const step: Event = {
  type: 'step.ended',
  ...place,
  kind: 'model',
  name: 'm',
  key: 'k',
  input: null,
  ok: true,
  output: '',
  usage: null,
  startedAt: 0,
}
const asked: Event = {
  type: 'question.asked',
  ...place,
  question: 'q',
  key: 'k',
  agent: 'a',
  tool: 'shell',
  input: null,
  path: [],
  flow: 'flow_a',
  deadline: 0,
}
const answered: Event = { type: 'question.answered', ...place, question: 'q', answer: 'allow', by: 'user' }
const opened = { type: 'call.opened', ...place, call: 'call_b' } as unknown as Event
const ended = { type: 'call.ended', ...place, call: 'call_b' } as unknown as Event

describe('R11: a turn whose last two runs each ended with their process before they recorded a step', () => {
  test.each([
    ['the first run', [], false],
    ['one run that died', [started('node_1')], false],
    ['two runs that died', [started('node_1'), claimed('node_2')], true],
    ['three runs that died', [started('node_1'), claimed('node_2'), claimed('node_3')], true],
    ['a step in the first of two', [started('node_1'), step, claimed('node_2')], false],
    ['a step in the second of two', [started('node_1'), claimed('node_2'), step], false],
    ['a step in the first of three', [started('node_1'), step, claimed('node_2'), claimed('node_3')], true],
    ['a step in the second of three', [started('node_1'), claimed('node_2'), step, claimed('node_3')], false],
    [
      'a node that was stopped in good order',
      [started('node_1'), claimed('node_2'), suspended('node_2')],
      false,
    ],
    [
      'a node that was stopped in good order before that',
      [started('node_1'), suspended('node_1'), claimed('node_2')],
      false,
    ],
    ['a node that is there again after another', [started('node_9'), claimed('node_2')], false],
    ['a node that took the turn from itself', [started('node_1'), claimed('node_1')], false],
    [
      'runs that only waited for a call',
      [started('node_1'), opened, claimed('node_2'), claimed('node_3')],
      false,
    ],
    [
      'a call that ended in the last run but one',
      [started('node_1'), opened, claimed('node_2'), ended, claimed('node_3')],
      false,
    ],
    [
      'two runs after a call had ended',
      [started('node_1'), opened, claimed('node_2'), ended, claimed('node_3'), claimed('node_4')],
      true,
    ],
    [
      'runs that only waited for a person',
      [started('node_1'), asked, claimed('node_2'), claimed('node_3')],
      false,
    ],
    [
      'two runs after a person had answered',
      [started('node_1'), asked, answered, claimed('node_2'), claimed('node_3')],
      true,
    ],
  ] as const)('%s', (_name, events, dead) => {
    expect(diedTwice(events, 'node_9')).toBe(dead)
  })

  test('a node that takes the turn from itself is the same process', () => {
    expect(diedTwice([started('node_1'), claimed('node_2')], 'node_2')).toBe(false)
  })
})

test('a turn that is not run again says why, and what to do', () => {
  expect(diedTwiceError).toBe(
    'crashed_twice: the last two times that this turn ran, the process of the server ended before the turn ' +
      'had recorded a step. It is not started a third time, because it may be what ends the process. ' +
      'If something else did, send the request again.',
  )
})

test('these events of a turn are read to judge it', () => {
  expect(runTypes.join(' ')).toBe(
    'turn.started session.claimed turn.suspended step.started step.ended call.opened call.refused call.ended ' +
      'wait.started question.asked question.answered',
  )
})
