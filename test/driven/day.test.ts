/** A day of work with driven agents, on a clock of our own: nothing is left of it. */
import { readdirSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test, vi } from 'vitest'
import { isRefusal } from '../../src/model/refusal.ts'
import { driveFake } from '../kits/driven.ts'

const openDescriptors = (): number => readdirSync('/proc/self/fd').length
/** What lives after everything else was collected. */
function liveBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed
}
/** Events and records of ninety sessions are small; a conversation that stays has megabytes of buffers. */
const bytesMax = 32 * 1024 * 1024
const sessionsOfTheDay = 100
const atOnce = 4

test('a hundred driven sessions leave no descriptor, process or memory behind', async () => {
  const world = await driveFake()
  const work = async (number: number): Promise<void> => {
    const answer = await world.call(`say ${number}`)
    expect(answer).toMatchObject({ outcome: 'completed', output: String(number) })
  }
  const round = async (from: number, to: number): Promise<void> => {
    for (let at = from; at < to; at += atOnce)
      await Promise.all(Array.from({ length: Math.min(atOnce, to - at) }, (_, more) => work(at + more)))
    await vi.waitFor(() => expect(world.processes()).toEqual([]), { timeout: 20_000 })
  }
  // What is loaded at first use counts for neither side.
  await round(0, 8)
  const [descriptors, handles] = [openDescriptors(), process.getActiveResourcesInfo().length]
  const bytes = liveBytes()
  await round(8, sessionsOfTheDay)
  // A few connections linger for a moment. What each session left behind would be ninety.
  await expect.poll(openDescriptors).toBeLessThanOrEqual(descriptors + 8)
  await expect.poll(() => process.getActiveResourcesInfo().length).toBeLessThanOrEqual(handles + 8)
  await expect.poll(() => liveBytes() - bytes).toBeLessThanOrEqual(bytesMax)
}, 240_000)

test('persistent sessions that rest are closed, the longest first, and open again with what they kept', async () => {
  const world = await driveFake()
  const { line } = world.served
  const ids: string[] = []
  for (let number = 0; number < 19; number += 1) {
    const made = await line.sessions.create({ cwd: world.directory, agent: 'fake' })
    if (isRefusal(made)) throw new Error(JSON.stringify(made))
    ids.push(made.sessionId)
    await line.run('fake', `say ${number}`, { session: made.sessionId })
  }
  const agents = (): number => world.log().filter((entry) => 'started' in entry).length
  expect(agents()).toBe(19)
  // R11: sixteen may rest.
  const alive = (): number =>
    world.log().filter((entry) => typeof entry['started'] === 'number' && isAlive(entry['started'])).length
  await vi.waitFor(() => expect(alive()).toBe(16), { timeout: 20_000 })
  expect(await line.run('fake', 'say again', { session: ids[0] as `ses_${string}` })).toMatchObject({
    output: 'again',
  })
  expect(world.log().filter((entry) => 'load' in entry)).toHaveLength(1)
}, 120_000)

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
