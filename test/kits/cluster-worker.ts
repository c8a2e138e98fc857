/**
 * A node in a process of its own: `cluster-worker.ts <name> <configuration> <file>`. It says "ready", and works:
 * each turn uses a tool that may not be repeated, and that leaves a line in the file.
 */
import { appendFileSync } from 'node:fs'
import { z } from 'zod'
import { defineTool } from '../../src/define.ts'
import type { TielineOptions } from '../../src/line.ts'
import { openLine } from '../../src/open-line.ts'
import { systemClock } from '../../src/runtime/kernel/system-clock.ts'

const [, , name = '', config = '', file = ''] = process.argv
const stamp = defineTool({
  name: 'stamp',
  description: 'puts a stamp on a letter, for good',
  input: z.strictObject({}),
  run: (_, { turn }) => {
    appendFileSync(file, `${turn.id}\n`)
    return { stamped: true }
  },
})
const agents = {
  worker: {
    runsOn: 'gpu',
    tools: ['stamp'],
    script: async (turn) => {
      await systemClock.sleep(30)
      await turn.tool('stamp', {})
      await systemClock.sleep(30)
      return `${turn.task} by ${name}`
    },
  },
} satisfies NonNullable<TielineOptions['agents']>
await openLine({ config, leaseMs: 1000, tools: [stamp], agents })
process.stdout.write('ready\n')
