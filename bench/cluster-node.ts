/** One node of a cluster in a process of its own: `cluster-node.ts <configuration>`. The parent sends orders. */
import { openLine } from '../src/open-line.ts'
import type { PostgresStore } from '../src/store/postgres/postgres.ts'
import { systemClock } from '../src/runtime/kernel/system-clock.ts'
import { delegate } from '../test/kits/delegate.ts'
import { slowMs, type NodeRound, type Order } from './cluster-order.ts'
import { runRound } from './round.ts'

const [, , config = ''] = process.argv
const line = await openLine({
  config,
  agents: {
    instant: delegate('worker'),
    slow: delegate('model'),
    worker: { script: ({ task }) => `did ${task}` },
    model: {
      async script({ task }) {
        await systemClock.sleep(slowMs)
        return `did ${task}`
      },
    },
  },
})
const store = line.store as PostgresStore
let tasks = 0

async function call(agent: string): Promise<void> {
  const task = `task ${(tasks += 1)}`
  const { output } = await line.run(agent, task, { timeoutMs: 60_000 })
  if (output !== `did ${task}`) throw new Error(`${agent} answered ${output}`)
}

async function runOrder({ what, concurrency, seconds }: Exclude<Order, 'end'>): Promise<NodeRound> {
  const before = store.reruns()
  const contender = { one: () => call(what), commits: () => store.commits(), close: () => line.close() }
  const round = await runRound(contender, concurrency, seconds)
  return { ...round, reruns: store.reruns() - before }
}

process.on('message', (order: Order) => {
  const answer =
    order === 'end'
      ? line.close().then(() => process.disconnect())
      : runOrder(order).then((round) => process.send?.(round))
  answer.catch((error: unknown) => {
    console.error(error)
    process.exit(1)
  })
})
process.send?.('ready')
