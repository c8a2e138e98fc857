/** One turn that runs here: what it has used, said and left, as others read it. */
import { expect, test } from 'vitest'
import type { EventOf } from '../../model/event.ts'
import { answerUnitsMax } from '../../model/limits.ts'
import { nothingSpent } from '../../model/money.ts'
import {
  countSpent,
  createSaying,
  settleBelow,
  timeLeft,
  turnProgress,
  unrecordedEnd,
  type Running,
} from './running.ts'
import type { Runtime } from './runtime.ts'

const running = (more: Partial<Running> = {}): Running =>
  ({
    row: { id: 'turn_1', session: 'ses_1', deadline: 0, call: null },
    epoch: 1,
    said: '',
    remark: '',
    step: 1,
    stepOffset: 0,
    answeredOffset: 0,
    answerBuffered: false,
    tokensUsed: 10,
    tokensBelow: 0,
    spent: nothingSpent,
    spentBelow: nothingSpent,
    toolCalls: new Set(['read']),
    iterations: 2,
    asking: null,
    moved: null,
    pendingBelow: 1,
    settled: new Set(),
    ...more,
  }) as unknown as Running

test('of a very long text the end is kept', () => {
  const said = `begin${'x'.repeat(answerUnitsMax)}end`
  const { output } = turnProgress(running({ said }))
  expect(output.length).toBeLessThanOrEqual(answerUnitsMax)
  expect([output.startsWith('begin'), output.endsWith('end')]).toEqual([false, true])
})

test('R7: a request that is under way counts with what it has used so far', () => {
  const usage = { input: 5, output: 2, estimated: true }
  expect(countSpent(running()).tokensUsed).toBe(10)
  expect(countSpent(running({ asking: () => usage })).tokensUsed).toBe(17)
  expect(unrecordedEnd(running({ asking: () => usage }), 'lost', 'lost: why')).toMatchObject({
    outcome: 'lost',
    tokensUsed: 17,
    toolCalls: ['read'],
  })
})

test('R7: the end of a call below counts once, in tokens and in money', () => {
  const caller = running()
  const ended = {
    call: 'call_2',
    tokensUsed: 7,
    spent: { ...nothingSpent, nanoUsd: 3 },
  } as unknown as EventOf<'call.ended'>
  settleBelow(caller, ended)
  settleBelow(caller, ended)
  expect([caller.pendingBelow, caller.tokensBelow, caller.spentBelow.nanoUsd]).toEqual([0, 7, 3])
})

test('R4: a turn has the time of its own limit and of the call that it serves, whichever ends first', () => {
  const runtime = { clock: { now: () => 1000, elapsed: () => 0 }, kept: new Map() } as unknown as Runtime
  const left = (deadline: number, ofCall: number | null): number =>
    timeLeft(
      runtime,
      running({
        row: {
          id: 'turn_1',
          deadline,
          call: ofCall === null ? null : { id: 'call_1', deadline: ofCall },
        } as unknown as Running['row'],
      }),
    )
  expect([left(5000, null), left(5000, 3000), left(3000, 5000)]).toEqual([4000, 2000, 2000])
})

test('who comes in the middle of a step is told what no event tells yet', () => {
  expect(createSaying(running())).toBeNull()
  const half = { said: 'an answer', stepOffset: 9, answeredOffset: 3 }
  expect(createSaying(running(half))).toMatchObject({ offset: 3, text: 'answer', step: 1 })
  expect(createSaying(running({ ...half, answerBuffered: true }))).toMatchObject({
    offset: 0,
    text: 'an answer',
  })
  expect(createSaying(running({ remark: 'waits' }))).toMatchObject({ text: '', remark: 'waits' })
})
