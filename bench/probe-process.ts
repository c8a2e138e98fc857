/** One probe of one contender, in a process of its own that may be killed. */
import { report, type Probe, type ProbeName } from './probed/moves.ts'

const [contender = '', name = '', life = '1', data = ''] = process.argv.slice(2)
const { run } = (await import(`./probed/${contender}.ts`)) as {
  run: (probe: Probe) => Promise<void>
}
try {
  await run({ name: name as ProbeName, life: Number(life), data })
} catch (fault) {
  const { name: kind, message } = fault as Error
  report({ failed: `${kind}: ${message}`.slice(0, 200) })
  process.exit(0)
}
