/** Runs one contender in a process of its own, so that heaps do not disturb each other. The parent sends orders. */
import { runRound } from './round.ts'
import type { Contender } from './work.ts'

export type Order = { concurrency: number; seconds: number } | 'end'

const starts: Record<string, () => Promise<{ start(): Promise<Contender> }>> = {
  tieline: () => import('./contenders/tieline.ts'),
  'tieline-own-read': async () => {
    const { start } = await import('./contenders/tieline.ts')
    return { start: () => start(true) }
  },
  'ai-sdk': () => import('./contenders/ai-sdk.ts'),
  'openai-agents': () => import('./contenders/openai-agents.ts'),
  langgraph: () => import('./contenders/langgraph.ts'),
  'bare-log': () => import('./contenders/bare-log.ts'),
}

const name = process.argv[2] ?? ''
const load = starts[name]
if (load === undefined) throw new Error(`"${name}" is not one of ${Object.keys(starts).join(', ')}`)
const contender = await (await load()).start()

process.on('message', (order: Order) => {
  const answer =
    order === 'end'
      ? contender.close().then(() => process.disconnect())
      : runRound(contender, order.concurrency, order.seconds).then((round) => process.send?.(round))
  answer.catch((error: unknown) => {
    console.error(error)
    process.exit(1)
  })
})
process.send?.('ready')
