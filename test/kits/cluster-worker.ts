/** A node in a process of its own: `cluster-worker.ts <name> <configuration>`. It says "ready", and works. */
import { openLine } from '../../src/open-line.ts'
import { systemClock } from '../../src/runtime/kernel/system-clock.ts'

const [, , name = '', config = ''] = process.argv
const worker = {
  runsOn: 'gpu',
  script: async ({ task }: { task: string }): Promise<string> => {
    await systemClock.sleep(60)
    return `${task} by ${name}`
  },
}
await openLine({ config, leaseMs: 1000, agents: { worker } })
process.stdout.write('ready\n')
