/** The record of a call: who called whom, why it was refused, and what it used, also while it runs. */
import { expect, test } from 'vitest'
import { world, type World } from '../../../test/kits/world.ts'
import type { Driver } from '../kernel/ports.ts'
import { readRecord } from './record.ts'

/** Uses 42 tokens, then does something. */
const spending = (then: () => Promise<unknown>): Driver => ({
  async run(_turn, steps) {
    await steps.step('model', 'm', {}, async () => ({
      value: { text: 'x' },
      usage: { input: 40, output: 2, estimated: false },
    }))
    await steps.tool('look', {})
    await then()
    return { outcome: 'completed', output: 'did it', error: null, iterations: 1 }
  },
})

const caller = (agent_name: string, more: object = {}) => ({
  script: async (turn: { tool: (name: string, input: never) => Promise<unknown> }) => {
    await turn.tool('sub_agent', { agent_name, task: 'x', ...more } as never)
    return 'ok'
  },
})

const callOf = async (w: World, type: 'call.opened' | 'call.refused'): Promise<string> =>
  (await w.events(type))[0]?.event.call ?? 'call_none'

test('the record of a call names its caller and its callee, and its place below the caller', async () => {
  const w = await world({
    agents: { boss: caller('coder'), coder: { driver: spending(async () => undefined) } },
  })
  await w.run('boss', 'go')
  expect(await readRecord(w.store, await callOf(w, 'call.opened'))).toMatchObject({
    caller: 'boss',
    target: 'coder',
    depth: 1,
    path: ['boss', 'coder'],
    outcome: 'completed',
    success: true,
    output: 'did it',
    tokensUsed: 42,
  })
  expect(await readRecord(w.store, 'call_none')).toBeNull()
})

test('a call that was refused has its reason, its path and nothing used on record', async () => {
  const w = await world({ agents: { boss: caller('nobody') } })
  await w.run('boss', 'go')
  expect(await readRecord(w.store, await callOf(w, 'call.refused'))).toMatchObject({
    outcome: 'refused',
    success: false,
    caller: 'boss',
    target: 'nobody',
    depth: 1,
    path: ['boss', 'nobody'],
    errors: [expect.stringContaining('nobody') as string],
    refusal: { code: 'agent_unknown' },
    tokensUsed: 0,
  })
})

test('a call that failed is no success on record', async () => {
  const w = await world({
    agents: { boss: caller('bad'), bad: { script: () => Promise.reject(new Error('broke')) } },
  })
  await w.run('boss', 'go')
  expect(await readRecord(w.store, await callOf(w, 'call.opened'))).toMatchObject({
    outcome: 'failed',
    success: false,
    errors: ['script_failed: broke'],
  })
})

test('a call that runs, or ran out of time, says what its turn has used', async () => {
  const w = await world({
    agents: {
      boss: caller('slow', { timeout_seconds: 5 }),
      slow: { driver: spending(() => new Promise(() => undefined)) },
    },
    tools: [
      {
        name: 'look',
        effect: 'write',
        calling: false,
        describe: () => ({ name: 'look', description: '', input: {} }),
        run: async () => ({ ok: true, value: 'seen' }),
      },
    ],
  })
  const run = w.ask('boss', 'go')
  await w.pass(1000)
  const call = await callOf(w, 'call.opened')
  expect(await readRecord(w.store, call)).toMatchObject({ outcome: null, success: false, tokensUsed: 42 })
  await w.until(run)
  await w.pass(10_000)
  expect(await readRecord(w.store, call)).toMatchObject({ outcome: 'timed_out', tokensUsed: 42 })
})
