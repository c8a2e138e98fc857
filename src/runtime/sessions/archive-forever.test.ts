import { expect, test } from 'vitest'
import { virtualClock } from '../../../test/kits/world.ts'
import { Limits } from '../../model/limits.ts'
import type { Lists } from '../kernel/lists-port.ts'
import type { Runtime } from './runtime.ts'
import { archiveForever } from './archive-forever.ts'

async function line(segmentAfterDays: number, rounds: number) {
  const clock = virtualClock()
  const stopping = new AbortController()
  const runtime = { clock, stopping, limits: Limits.parse({}) } as unknown as Runtime
  const [looked, asked, warned]: [number[], number[], string[]] = [[], [], []]
  const begin = clock.now()
  const lists = {
    restingSince: async () => {
      looked.push(clock.now() - begin)
      if (looked.length === 1) throw new Error('the disk is full')
      return []
    },
  } as unknown as Lists
  const archive = async (ask: { endedBefore: number; now: number }) =>
    void asked.push((ask.now - ask.endedBefore) / 86_400_000)
  const done = archiveForever(runtime, { lists, archive }, segmentAfterDays, (text) => warned.push(text))
  for (let n = 0; n < rounds; n += 1) {
    clock.tick()
    await new Promise((resolve) => setImmediate(resolve))
  }
  stopping.abort(new Error('stopped'))
  await done
  return { looked, asked, warned }
}

test('what is old is put away every ten minutes, also after a fault, of which a warning tells', async () => {
  const { looked, asked, warned } = await line(30, 3)
  expect(looked).toEqual([600_000, 1_200_000, 1_800_000])
  expect(asked).toEqual([30, 30])
  expect(warned).toEqual(['what is old could not be archived: the disk is full'])
})

test('with zero days everything stays in the log, while sessions are still put away', async () => {
  const { looked, asked } = await line(0, 3)
  expect([looked.length, asked]).toEqual([3, []])
})
