/** Waiting for ends: what an answer says of a call, and hints that were lost. */
import { expect, test } from 'vitest'
import { world } from '../../../test/kits/world.ts'
import type { EventOf } from '../../model/event.ts'
import { listen } from './runtime.ts'
import { callEnding, lookForEndings, readEnding, settleTurn, toResult } from './waiting.ts'

const calling = () =>
  world({
    agents: {
      boss: {
        script: async (turn) => {
          await turn.tool('sub_agent', { agent_name: 'coder', task: 'x' })
          return 'ok'
        },
      },
      coder: { script: () => 'did it' },
    },
  })

test('who waits for a call or a turn whose end nobody told here finds it by looking', async () => {
  const w = await calling()
  await w.run('boss', 'go')
  const { runtime } = w.node
  const call = (await w.events('call.opened'))[0]?.event.call ?? 'call_none'
  const turn = (await w.events('message.sent'))[0]?.event.turn ?? 'turn_none'
  const outputs: string[] = []
  void callEnding(runtime, call).ending.then(({ output }) => outputs.push(output))
  listen(runtime.turnWaiters, turn, ({ output }) => outputs.push(output))
  let never = false
  void callEnding(runtime, 'call_none').ending.then(() => (never = true))
  await lookForEndings(runtime)
  await w.rest()
  expect(outputs.toSorted()).toEqual(['did it', 'ok'])
  expect(never).toBe(false)
  expect([runtime.callWaiters.size, runtime.turnWaiters.size]).toEqual([1, 0])
})

test('each of those who wait for a turn is told once', async () => {
  const { runtime } = (await calling()).node
  const told: number[] = []
  for (const n of [1, 2]) listen(runtime.turnWaiters, 'turn_1', () => told.push(n))
  for (let n = 0; n < 2; n += 1) settleTurn(runtime, 'turn_1', {} as EventOf<'turn.ended'>)
  expect(told).toEqual([1, 2])
})

test('the end of a call is read from the log, and one that runs has none', async () => {
  const w = await calling()
  const run = w.ask('boss', 'go')
  await run.accepted
  const { runtime } = w.node
  expect(await readEnding(runtime, 'call_none')).toBeNull()
  await w.until(run)
  const call = (await w.events('call.opened'))[0]?.event.call ?? 'call_none'
  expect((await readEnding(runtime, call))?.ended).toMatchObject({ call, output: 'did it' })
})

test('an answer says how long the call took, who really answered, and what is to be noted', () => {
  const ended = {
    call: 'call_1',
    outcome: 'completed',
    output: 'did it',
    truncated: false,
    errors: [],
    toolCalls: ['read'],
    tokensUsed: 7,
    openedAt: 1000,
    endedAt: 4500,
    iterations: 2,
    moved: { from: 'coder', to: 'other', reason: 'it is down' },
  } as unknown as EventOf<'call.ended'>
  const opened = {
    grant: { agent: 'coder', path: [{ agent: 'boss' }, { agent: 'coder' }] },
    notes: ['a note'],
  } as unknown as Parameters<typeof toResult>[1]
  const result = toResult(ended, opened)
  expect(result).toMatchObject({
    agent: 'other',
    output: 'did it',
    durationMs: 3500,
    path: ['boss', 'other'],
    toolCalls: ['read'],
    refusal: null,
  })
  expect(result.notes).toEqual(['a note', expect.stringContaining('other') as string])
  const { moved: _moved, ...stayed } = ended
  expect(toResult({ ...stayed, endedAt: 900 }, opened)).toMatchObject({ agent: 'coder', durationMs: 0 })
})
