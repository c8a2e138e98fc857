/** How a server that a command started for itself ends: not under the hands of others. */
import { isRefusal } from '../../model/refusal.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import type { OpenServer } from '../../open-server.ts'
import { leftWords } from '../show/amounts.ts'
import { isSilent, type CommandInput } from '../command.ts'
import { patientFetch } from './patient-fetch.ts'
import { oneLine } from '../show/width.ts'

/** Whoever only watches is left after this time: it finds the next server, or is it. */
const unusedMsMax = 3000
const lookAgainMs = 20

type LeaveInput = Pick<CommandInput, 'flags' | 'err' | 'signal'>

/**
 * Turns that an earlier process left, and those of other commands that have connected meanwhile, would be cut
 * off: they are waited for, unless the user wants to leave.
 */
export async function leave(own: OpenServer, input: LeaveInput): Promise<void> {
  const { signal } = input
  let unusedSince = systemClock.elapsed()
  while (!signal.aborted) {
    if (own.line.running() > 0) {
      await untilIdle(own, input)
      unusedSince = systemClock.elapsed()
    }
    if (systemClock.elapsed() - unusedSince > unusedMsMax || (await listeners(own)) === 0) break
    await systemClock.sleep(lookAgainMs, signal).catch(() => undefined)
  }
  await own.close()
}

async function untilIdle({ line }: OpenServer, input: LeaveInput): Promise<void> {
  const { err, signal } = input
  if (!isSilent(input)) err.write(`tieline: ${waitingWords(await workingNow(line), line.running())}\n`)
  const aborted = Promise.withResolvers<void>()
  const stop = (): void => aborted.resolve()
  signal.addEventListener('abort', stop, { once: true })
  await Promise.race([line.idle(), aborted.promise])
  signal.removeEventListener('abort', stop)
}

export type Working = { agent: string; session: string; leftMs: number }

const namedMax = 3

/** Sessions of calls are not looked at: who called them is named. */
async function workingNow(line: OpenServer['line']): Promise<Working[]> {
  const listed = await line.desks.as({}).sessions.list({ active: true, limit: namedMax })
  const sessions = isRefusal(listed) ? [] : listed.sessions
  const turns = await Promise.all(sessions.map(({ id }) => line.store.sessionFacts(id)))
  return turns.flatMap(({ running }) =>
    running === null
      ? []
      : [
          {
            agent: running.grant.agent,
            session: running.session,
            leftMs: running.deadline - systemClock.now(),
          },
        ],
  )
}

/** Whose turn it is, how long it may take, and how to end it or to leave it. */
export function waitingWords(working: readonly Working[], count: number): string {
  const [first] = working
  const who =
    first === undefined
      ? count === 1
        ? 'a turn still runs'
        : `${count} turns still run`
      : `${working.map(({ agent, session, leftMs }) => `${oneLine(agent)} still works in ${session} (${leftWords(leftMs)})`).join(', ')}`
  return `${who}, begun by another command or left by an earlier one; this server waits for it. Ctrl-C leaves it, and the next server goes on with it${first === undefined ? '' : `; "tieline cancel ${first.session}" ends it`}.`
}

/**
 * Every command that works on a server listens to its events: who is connected may be about to ask for
 * something.
 */
async function listeners({ url, token }: OpenServer): Promise<number> {
  try {
    const answer = await patientFetch(`${url}/metrics`, {
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
    })
    return Number(/^tieline_websocket_clients (\d+)$/m.exec(await answer.text())?.[1] ?? 0)
  } catch {
    return 0
  }
}
