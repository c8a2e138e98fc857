/**
 * How long the cluster needs after its database is back. The database is back when a commit of our own succeeds
 * beside the nodes: on a machine without time for anybody it starts long before it works. From there the first
 * act counts that any node acknowledges. Meanwhile a timer of this process and commits of our own say whether the
 * machine has time for anybody: where they are late, the nodes are too. And where each node was killed, frozen or
 * cut off meanwhile, there is none that could have gone on. How long it took then is told and not judged.
 */
import { pause } from '../hostile/attack.ts'
import { systemClock } from '../src/runtime/kernel/system-clock.ts'
import { connect } from '../src/store/postgres/link.ts'
import { askOnce } from './clients.ts'
import type { World } from './faults.ts'
import type { History } from './history.ts'
import type { Member } from './member.ts'

const againMs = 50
/** A node that has just come back has its own return behind it. */
const settleMs = 500
const tickMs = 20
/** A timer that is later than this was waiting for a processor. */
const lateMsMax = 150

/** Nor has a database time that needs longer than this for a connection and a commit. */
const commitMsMax = 300

/** How late a short timer was at most, until it is asked. */
function watchLateness(): () => number {
  let last = systemClock.elapsed()
  let worst = 0
  const look = (): void => {
    const now = systemClock.elapsed()
    worst = Math.max(worst, now - last - tickMs)
    last = now
  }
  const timer = setInterval(look, tickMs)
  return () => {
    look()
    clearInterval(timer)
    return worst
  }
}

/** How long a connection and a commit took at most, until it is asked. */
function watchCommits(world: World): () => Promise<number> {
  const over = new AbortController()
  let worst = 0
  const watching = (async (): Promise<void> => {
    while (!over.signal.aborted) {
      const since = systemClock.elapsed()
      if (!(await untilCommits(world, over.signal))) return
      worst = Math.max(worst, systemClock.elapsed() - since)
      await pause(commitMsMax, over.signal)
    }
  })()
  return async () => {
    over.abort()
    await watching
    return worst
  }
}

/** Whether some node was left alone for all of this time. */
export function hadWholeNode(
  { members, touched }: Pick<World, 'members' | 'touched'>,
  from: number,
): boolean {
  return members.some(
    (member) =>
      member.isRunning() &&
      !touched.some((touch) => touch.member === member && (touch.to === null || touch.to > from)),
  )
}

/** Resolves when a commit has succeeded; false where the run is over first. */
async function untilCommits(world: World, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    try {
      const link = await connect({ url: `postgres://tieline@127.0.0.1:${world.postgres.port}/postgres` })
      try {
        await link.run('create table if not exists probes (n int); insert into probes values (1)')
        return true
      } finally {
        link.close()
      }
    } catch {
      await pause(againMs, signal)
    }
  }
  return false
}

/** One client for each node asks it for something small until one of them has it acknowledged. */
async function untilAcknowledged(
  { members }: World,
  history: History,
  about: { name: string; cwd: string },
  signal: AbortSignal,
): Promise<number | null> {
  const over = new AbortController()
  const either = AbortSignal.any([signal, over.signal])
  const probe = async (member: Member): Promise<number | null> => {
    const key = `${about.name} ${member.name}`
    const body = { cwd: about.cwd, agent: 'clerk', title: key }
    const ask = { method: 'POST', path: '/api/sessions', body, key }
    while (!either.aborted) {
      const told = await askOnce(member, 'prober', ask)
      if (told?.status === 201) {
        history.begin('session', key, '', key).told = told
        over.abort()
        return told.at
      }
      await pause(againMs, either)
    }
    return null
  }
  const first = members.map((member) => probe(member).then((at) => at ?? new Promise<never>(() => undefined)))
  const ended = new Promise<null>((resolve) => signal.addEventListener('abort', () => resolve(null)))
  return signal.aborted ? null : Promise.race([...first, ended])
}

export async function watchRecovery(
  world: World,
  history: History,
  cwd: string,
  signal: AbortSignal,
): Promise<void> {
  for (let known = 0; !signal.aborted;) {
    const { length } = world.backAt
    if (length === known) {
      await pause(20, signal)
      continue
    }
    known = length
    if (!(await untilCommits(world, signal))) return
    const since = systemClock.elapsed()
    const lateness = watchLateness()
    const commits = watchCommits(world)
    const at = await untilAcknowledged(world, history, { name: `probe ${known}`, cwd }, signal)
    // Where it went away again meanwhile, the next return is measured.
    const isMeasured = at !== null && world.backAt.length === known
    const [lateMs, commitMs] = [lateness(), await commits()]
    const couldNot = lateMs > lateMsMax || commitMs > commitMsMax || !hadWholeNode(world, since - settleMs)
    if (!isMeasured) continue
    const list = couldNot ? history.recoveredBusyMs : history.recoveredMs
    list.push(Math.round(at - since))
  }
}
