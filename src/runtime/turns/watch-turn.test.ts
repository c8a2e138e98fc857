import { expect, test } from 'vitest'
import { virtualClock } from '../../../test/kits/world.ts'
import { Agent, externalAgent } from '../../model/agent.ts'
import { Limits } from '../../model/limits.ts'
import { createAlarm } from '../kernel/alarm.ts'
import type { Running } from '../kernel/running.ts'
import type { Runtime } from './runtime.ts'
import { watch } from './watch-turn.ts'

function watched(more: { agent: Agent; kind: string; recorded: object | null; deadlineInMs: number }) {
  const clock = virtualClock()
  const stopped: number[] = []
  const begin = clock.elapsed()
  const runtime = {
    clock,
    kept: new Map(),
    limits: Limits.parse({ inactivityMs: 10_000 }),
    alarm: createAlarm(clock, true),
    report: () => undefined,
    // It is looked up to be stopped, and is gone by then.
    store: { turn: async () => (stopped.push(clock.elapsed() - begin), null) },
  } as unknown as Runtime
  const running = {
    row: { id: 'turn_a', call: null, deadline: clock.now() + more.deadlineInMs },
    agent: more.agent,
    session: { kind: more.kind },
    recorded: more.recorded,
    toolsRunning: 0,
    progressAt: clock.elapsed(),
  } as unknown as Running
  const pass = async (ms: number): Promise<void> => {
    const end = clock.elapsed() + ms
    void clock.sleep(ms)
    while (clock.elapsed() < end && clock.tick()) await new Promise((resolve) => setImmediate(resolve))
  }
  const heard = (): void => void Object.assign(running, { progressAt: clock.elapsed() })
  return { forget: watch(runtime, running), stopped, pass, heard }
}

test("a client's turn that is taken up after its deadline has a second to read its record", async () => {
  const late = { agent: externalAgent, kind: 'external', deadlineInMs: -60_000 }
  const times: number[][] = []
  for (const recorded of [{}, null]) {
    const { stopped, pass } = watched({ ...late, recorded })
    await pass(5000)
    times.push(stopped)
  }
  expect(times).toEqual([[1000], [0]])
})

test('an agent is stopped when it was silent for as long as it may be, counted from its last word', async () => {
  const agent = Agent.parse({ name: 'a', prompt: '' })
  const w = watched({ agent, kind: 'persistent', recorded: null, deadlineInMs: 3_600_000 })
  await w.pass(7000)
  w.heard()
  await w.pass(9000)
  expect(w.stopped).toEqual([])
  await w.pass(2000)
  expect(w.stopped).toEqual([17_000])
  w.forget()
})
