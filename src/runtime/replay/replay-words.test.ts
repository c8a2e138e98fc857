/** Refusals and hints are worded better from release to release; what was recorded before still replays. */
import { expect, test } from 'vitest'
import { flowOf, replayed, tampered } from '../../../test/kits/replay.ts'
import { scriptedDriver } from '../../adapters/scripted/drive.ts'
import { Script } from '../../adapters/scripted/script.ts'
import { virtualClock, world, type World } from '../../../test/kits/world.ts'
import type { Event } from '../../model/event.ts'

const rules = Script.parse([
  {
    when: { iteration: 1 },
    tools: [
      { name: 'sub_agent', input: { agent_name: 'nobody', task: 'x' } },
      { name: 'call_agent', input: { agent_id: 'worker', message: 'part' } },
    ],
  },
  { say: 'done: {{result.response}}' },
])

async function recorded(): Promise<World> {
  const clock = virtualClock()
  const count = (text: string): number => text.length
  const w = await world({
    clock,
    agents: {
      boss: { driver: scriptedDriver(rules, { clock, count }) },
      worker: { script: () => 'part done' },
    },
  })
  await w.run('boss', 'go')
  return w
}

/** As a release with other words would have recorded it: only the keys of model steps know them. */
const withOldKeys = (events: Event[]): Event[] =>
  events.map((event) =>
    event.type === 'step.ended' && event.kind === 'model' && event.key.startsWith('w-')
      ? { ...event, key: `older${event.key.slice(2)}` }
      : event,
  )

test('a log whose models read the refusals of an earlier release replays as the same', async () => {
  const w = await recorded()
  const older = await tampered(w, withOldKeys)
  expect(await replayed(w, await flowOf(w), older)).toMatchObject({ equal: true, difference: null })
})

test('in a log of this release a model step is still found by what came back, not by its place', async () => {
  const w = await recorded()
  const changed = await tampered(w, (events) =>
    events.map((event) => (event.type === 'call.ended' ? { ...event, output: 'something else' } : event)),
  )
  const { turns } = await replayed(w, await flowOf(w), changed)
  expect(turns.find(({ agent }) => agent === 'boss')).toMatchObject({
    equal: false,
    difference: { why: 'the turn asked for something else than what was recorded next' },
  })
})
