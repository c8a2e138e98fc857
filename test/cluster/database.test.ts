import { afterAll, describe, expect, test } from 'vitest'
import type { OpenLine } from '../../src/open-line.ts'
import { systemClock } from '../../src/runtime/kernel/system-clock.ts'
import { checkLog, freshDatabase, openNode, readAll } from '../kits/cluster-lines.ts'
import { delegate } from '../kits/delegate.ts'
import { startPostgres } from '../kits/postgres.ts'

const postgres = await startPostgres({ fsync: true })
afterAll(() => postgres?.stop())

/** Set it to 10 to be more certain; then the time is judged too, which only a machine at rest can keep. */
const asked = process.env['TIELINE_CLUSTER_ROUNDS']
const rounds = Number(asked ?? 1)
const backMsMax = asked === undefined ? 15_000 : 2000
const roundMsMax = 20_000

type Answer = { task: string; output: string; begunAt: number; at: number }

/** Calls at one node without a pause until it is told to stop. What the node refuses meanwhile is counted. */
function keepCalling(line: OpenLine, name: string) {
  let isOver = false
  const told = { answers: [] as Answer[], refused: 0 }
  const callers = Array.from({ length: 4 }, async (_, caller) => {
    for (let n = 0; !isOver; n += 1) {
      const [task, begunAt] = [`${name}${caller}-${n}`, systemClock.elapsed()]
      const { outcome, output } = await line.run('boss', task, { timeoutMs: 60_000 })
      if (outcome === 'completed' && output !== '')
        told.answers.push({ task, output, begunAt, at: systemClock.elapsed() })
      else {
        // The database was away when the one who was asked, or the one whom that asked, was to begin.
        told.refused += 1
        await systemClock.sleep(25)
      }
    }
  })
  return {
    told,
    async stop() {
      isOver = true
      await Promise.all(callers)
    },
  }
}

async function waitUntil(holds: () => boolean): Promise<void> {
  for (const since = systemClock.elapsed(); !holds(); await systemClock.sleep(10))
    if (systemClock.elapsed() - since > roundMsMax) throw new Error('nothing more was acknowledged')
}

describe.skipIf(postgres === null)('a cluster whose database is killed', () => {
  test(
    'R2: PostgreSQL killed under load: nothing acknowledged is lost, and both nodes go on by themselves',
    async () => {
      const url = await freshDatabase(postgres)
      const worker = { script: ({ task }: { task: string }) => `did ${task}` }
      const agents = { boss: delegate('worker'), worker }
      const lines = [
        await openNode(url, { name: 'a', agents }),
        await openNode(url, { name: 'b', agents }),
      ] as const
      const calling = lines.map((line, at) => keepCalling(line, `node ${at} `))
      const delays: number[] = []
      for (let round = 0; round < rounds; round += 1) {
        const before = calling.map(({ told }) => told.answers.length)
        await waitUntil(() => calling.every(({ told }, at) => told.answers.length > (before[at] ?? 0) + 4))
        await postgres?.kill()
        await systemClock.sleep(150)
        await postgres?.start()
        const back = systemClock.elapsed()
        const isBack = ({ told }: (typeof calling)[number]): boolean =>
          told.answers.some(({ begunAt }) => begunAt > back)
        await waitUntil(() => calling.every(isBack))
        delays.push(systemClock.elapsed() - back)
      }
      for (const one of calling) await one.stop()
      const answers = calling.flatMap(({ told }) => told.answers)
      expect(answers.filter(({ task, output }) => output !== `did ${task}`)).toEqual([])
      // It has read what the other has committed.
      await lines[0].store.transact([], async () => undefined)
      const times = new Map<string, number>()
      for (const { event } of await readAll(lines[0], ['turn.ended']))
        if (event.type === 'turn.ended') times.set(event.output, (times.get(event.output) ?? 0) + 1)
      // What the one who was asked said: the end of a call is another event.
      expect(answers.filter(({ output }) => times.get(output) !== 1)).toEqual([])
      expect(Math.max(...delays)).toBeLessThan(backMsMax)
      if (asked !== undefined) {
        const refused = calling.reduce((sum, { told }) => sum + told.refused, 0)
        console.log(
          `${rounds} rounds: ${answers.length} acknowledged, ${refused} refused; ` +
            `back within ${delays.map(Math.round).join(', ')} ms`,
        )
      }
      await checkLog(lines[0])
    },
    2 * roundMsMax * (rounds + 1),
  )
})
