/** How a server that a command started for itself ends: not under the hands of others. */
import { systemClock } from '../runtime/system-clock.ts'
import type { Served } from '../serve.ts'
import { isSilent, type CommandInput } from './command.ts'
import { patientFetch } from './patient-fetch.ts'

/** Whoever only watches is left after this time: it finds the next server, or is it. */
const unusedMsMax = 3000
const lookAgainMs = 20

type LeaveInput = Pick<CommandInput, 'flags' | 'err' | 'signal'>

/** Turns that an earlier process left, and those of other commands that have connected meanwhile, would be cut off: they are waited for, unless the user wants to leave. */
export async function leave(own: Served, input: LeaveInput): Promise<void> {
  const { signal } = input
  let unusedSince = systemClock.now()
  while (!signal.aborted) {
    if (own.line.running() > 0) {
      await untilIdle(own, input)
      unusedSince = systemClock.now()
    }
    if (systemClock.now() - unusedSince > unusedMsMax || (await listeners(own)) === 0) break
    await systemClock.sleep(lookAgainMs, signal).catch(() => undefined)
  }
  await own.close()
}

async function untilIdle({ line }: Served, input: LeaveInput): Promise<void> {
  const { err, signal } = input
  if (!isSilent(input)) err.write(`tieline: ${line.running() === 1 ? 'a turn still runs' : `${line.running()} turns still run`} here; waiting for the end (Ctrl-C leaves what is undone for the next time)\n`)
  const aborted = Promise.withResolvers<void>()
  const stop = (): void => aborted.resolve()
  signal.addEventListener('abort', stop, { once: true })
  await Promise.race([line.idle(), aborted.promise])
  signal.removeEventListener('abort', stop)
}

/** Every command that works on a server listens to its events: who is connected may be about to ask for something. */
async function listeners({ url, token }: Served): Promise<number> {
  try {
    const answer = await patientFetch(`${url}/metrics`, { headers: token === null ? {} : { authorization: `Bearer ${token}` } })
    return Number(/^tieline_websocket_clients (\d+)$/m.exec(await answer.text())?.[1] ?? 0)
  } catch {
    return 0
  }
}
