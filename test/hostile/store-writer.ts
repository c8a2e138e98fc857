/**
 * Run as a process of its own, to be killed: writes calls into the store of a directory without end, and
 * prints the number of each event once it is acknowledged.
 */
import { sqliteStore } from '../../src/store/sqlite.ts'
import { append, callEnded, created, ended, opened, running, started, stepped } from '../kits/store.ts'

const [directory = '', name = 'x'] = process.argv.slice(2)
const store = sqliteStore({ directory, now: () => 1 })
process.stdout.write('open\n')

async function write(of: string): Promise<void> {
  await append(
    store,
    ...running(of),
    created(`ses_${of}-child`, 'ephemeral'),
    opened({
      from: `ses_${of}`,
      in: `turn_${of}`,
      call: `call_${of}-child`,
      to: `ses_${of}-child`,
      tokens: 50,
    }),
  )
  process.stdout.write(`ses_${of}-child\n`)
  await append(
    store,
    started(`ses_${of}-child`, `turn_${of}-child`),
    stepped(`ses_${of}-child`, `turn_${of}-child`, { input: 3, output: 4, estimated: false }),
  )
  await append(
    store,
    ended(`ses_${of}-child`, `turn_${of}-child`, 7),
    callEnded(`ses_${of}`, `turn_${of}`, `call_${of}-child`, `ses_${of}-child`),
  )
  await append(store, ended(`ses_${of}`, `turn_${of}`, 1))
  process.stdout.write(`turn_${of}\n`)
}

async function writeForever(worker: number): Promise<never> {
  for (let n = 0; ; n += 1) await write(`${name}-${worker}-${n}`)
}
await Promise.all([0, 1, 2, 3].map(writeForever))
