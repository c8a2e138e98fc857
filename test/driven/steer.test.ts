/** Words to agents while they work: ours between two steps, driven ones where they can take it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { isRefusal } from '../../src/model/refusal.ts'
import { driveFake, type Driven } from '../kits/driven.ts'

// Starting a process of its own takes as long as the machine is full.
vi.setConfig({ testTimeout: 120_000 })

async function begun({ events, log }: Driven): Promise<string> {
  await vi.waitFor(() => expect(log().some((entry) => 'prompt' in entry)).toBe(true), { timeout: 100_000 })
  return (await events('call.opened')).at(-1)?.call ?? ''
}

/** It works until it is let go, however long the word takes. */
const letGo = ({ home }: Driven): void => writeFileSync(join(home, 'go'), '')

test('an agent that can take a word in the middle has it at once', async () => {
  const world = await driveFake({ steers: true })
  const running = world.call('say one\nuntil go\nsay two')
  const id = await begun(world)
  expect(await world.served.line.calls.steer(id, 'say steered')).toEqual({ call_id: id, status: 'injected' })
  letGo(world)
  expect((await running).output).toMatch(/one\n+steered\n+two/)
  expect(world.log().filter((entry) => 'prompt' in entry)).toHaveLength(1)
})

test('any other gets it as its next input, before its turn may end', async () => {
  const world = await driveFake()
  const running = world.call('say one\nuntil go\nsay two')
  const id = await begun(world)
  expect(await world.served.line.calls.steer(id, 'say steered')).toEqual({ call_id: id, status: 'queued' })
  letGo(world)
  expect((await running).output).toMatch(/one\n+two\n+steered/)
})

test('a call that has ended takes no word, and an unknown one neither', async () => {
  const world = await driveFake()
  const { call_id: id } = await world.call('say one')
  expect(await world.served.line.calls.steer(id, 'late')).toMatchObject({ code: 'call_ended' })
  expect(await world.served.line.calls.steer('call_404', 'x')).toMatchObject({ code: 'call_unknown' })
})

test('our own loop is given a word before it may end, and a replay finds it there again', async () => {
  const script = [{ when: { iteration: 1 }, say: 'first', delayMs: 1500 }, { say: 'second' }]
  const world = await driveFake({}, {}, { agents: { worker: { script } } })
  const { line } = world.served
  const opened = await line.calls.open({ agent: 'worker', task: 'go', background: true })
  if (isRefusal(opened)) throw new Error(JSON.stringify(opened))
  const { call_id: id } = opened
  expect(await line.calls.steer(id, 'and now this')).toEqual({ call_id: id, status: 'injected' })
  await line.idle()
  expect(await line.calls.get(id)).toMatchObject({ outcome: 'completed', output: 'second' })
  const given = (await world.events('step.ended')).find(({ name }) => name === 'steer_call')
  expect(given?.output).toEqual(['and now this'])
  expect(await line.log.replay(id)).toMatchObject({ equal: true, difference: null })
})

test('an agent that is a function has no steps to take a word between, and says so', async () => {
  const world = await driveFake(
    {},
    {},
    {
      agents: {
        worker: {
          script: ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', reject)),
        },
      },
    },
  )
  const { line } = world.served
  const opened = await line.calls.open({ agent: 'worker', task: 'go', background: true })
  if (isRefusal(opened)) throw new Error(JSON.stringify(opened))
  expect(await line.calls.steer(opened.call_id, 'hey')).toMatchObject({ code: 'not_allowed' })
})
