/** One run: a database, three nodes, clients, and faults from a seed; then calm, and the verdict. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pause } from '../hostile/attack.ts'
import { Random } from '../sim/random.ts'
import { systemClock } from '../src/runtime/kernel/system-clock.ts'
import { startPostgres } from '../test/kits/postgres.ts'
import { askOnce, insist, runLane, type Lane } from './clients.ts'
import { faults, mountDisk, type Fault, type World } from './faults.ts'
import { follow } from './followers.ts'
import { History } from './history.ts'
import {
  judgeAcknowledged,
  judgeAgreement,
  judgeEffects,
  judgeLog,
  judgeOutcomes,
  type Line,
} from './judge.ts'
import { createMember, type Member } from './member.ts'
import { checkReplica, readRows } from './read-log.ts'
import { watchRecovery } from './recovery.ts'

export type Plan = { seconds: number; seed: number; clients: number; only: readonly string[] }
export type Chaos = {
  plan: Plan
  directory: string
  world: World
  history: History
  /** How often each fault was done. */
  done: Map<string, number>
  /** What is being done now. */
  doing: string[]
  begunAt: number
  close(keep: boolean): Promise<void>
}

const nodeCount = 3
/** Much more than it takes: what never rests never does. */
const quietMsMax = 300_000
const agreedMax = 200
const diskMb = 400
const recoveredMsMax = 2000

export async function prepare(plan: Plan): Promise<Chaos> {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-chaos-'))
  chmodSync(directory, 0o755)
  mkdirSync(join(directory, 'work'))
  const disk = mountDisk(diskMb)
  const postgres = await startPostgres({
    fsync: true,
    ...(disk === null ? {} : { place: disk.path }),
    settings: ['max_wal_size=64MB', 'min_wal_size=32MB'],
  })
  if (postgres === null) throw new Error('PostgreSQL cannot be started on this machine')
  const members: Member[] = []
  for (let n = 1; n <= nodeCount; n += 1) members.push(await createMember(directory, `n${n}`, postgres.port))
  const world: World = { members, postgres, disk, backAt: [], touched: [] }
  return {
    plan,
    directory,
    world,
    history: new History(),
    done: new Map(),
    doing: [],
    begunAt: 0,
    async close(keep) {
      await Promise.all(members.map((member) => member.kill()))
      await Promise.all(members.map(({ proxy }) => proxy.close()))
      await postgres.stop()
      disk?.remove()
      if (!keep) rmSync(directory, { recursive: true, force: true })
    },
  }
}

async function openSessions(
  { world, history, directory, plan }: Chaos,
  agent: string,
  some: number,
): Promise<string[]> {
  const asker = {
    name: 'opener',
    members: world.members,
    history,
    random: new Random(plan.seed, `open ${agent}`),
    signal: AbortSignal.timeout(60_000),
  }
  const body = { cwd: join(directory, 'work'), agent }
  const opened: string[] = []
  for (let n = 0; n < some; n += 1) {
    const told = await insist(asker, null, {
      method: 'POST',
      path: '/api/sessions',
      body,
      key: `${agent} ${n}`,
    })
    opened.push(String(told?.body['sessionId']))
  }
  return opened
}

/** Faults one after the other with a pause, sometimes two at once of different kinds. */
async function disturb(
  chaos: Chaos,
  random: Random,
  about: readonly Fault['about'][],
  until: number,
): Promise<void> {
  const { only } = chaos.plan
  const possible = faults.filter(
    (fault) =>
      about.includes(fault.about) &&
      fault.isPossible(chaos.world) &&
      (only.length === 0 || only.includes(fault.name)),
  )
  if (possible.length === 0) return
  // Each kind comes once before any comes twice.
  let rest: Fault[] = []
  while (systemClock.elapsed() < until) {
    await pause(300 + random.below(2200))
    if (rest.length === 0) rest = [...possible]
    const fault = random.pick(rest)
    rest.splice(rest.indexOf(fault), 1)
    if (systemClock.elapsed() >= until) return
    chaos.doing.push(fault.name)
    await fault.hit(chaos.world, random)
    chaos.doing.splice(chaos.doing.indexOf(fault.name), 1)
    chaos.done.set(fault.name, (chaos.done.get(fault.name) ?? 0) + 1)
  }
}

export async function disrupt(chaos: Chaos): Promise<boolean> {
  const { plan, world, history, directory } = chaos
  const started = await Promise.all(world.members.map((member) => member.start()))
  if (started.includes(false)) return false
  const [sessions, stampers, sleepers] = [
    await openSessions(chaos, 'clerk', 6),
    await openSessions(chaos, 'stamper', 4),
    await openSessions(chaos, 'sleeper', 3),
  ]
  const over = new AbortController()
  const { signal } = over
  const lanes = Array.from({ length: plan.clients }, (_, n) => {
    const lane: Lane = {
      name: `lane${n}`,
      members: world.members,
      history,
      random: new Random(plan.seed, `lane ${n}`),
      signal,
      cwd: join(directory, 'work'),
      sessions,
      stampers,
      sleepers,
    }
    return runLane(lane)
  })
  const following = world.members.map((member) => follow(member, history, signal))
  const watching = watchRecovery(world, history, join(directory, 'work'), signal)
  chaos.begunAt = systemClock.elapsed()
  const until = chaos.begunAt + plan.seconds * 1000
  await Promise.all([
    disturb(chaos, new Random(plan.seed, 'node faults'), ['node'], until),
    disturb(chaos, new Random(plan.seed, 'other faults'), ['database', 'network'], until),
  ])
  await calmDown(chaos)
  await pause(500)
  over.abort()
  await Promise.all([...lanes, ...following, watching])
  return true
}

/** All faults are undone, and every node runs. */
async function calmDown({ world }: Chaos): Promise<void> {
  if (!world.postgres.isUp()) await world.postgres.start()
  for (const member of world.members) {
    member.proxy.thaw()
    member.proxy.delay(0)
    if (!member.isRunning()) await member.start()
  }
}

/** Everything that was begun has its time to end. */
async function untilQuiet({ world }: Chaos): Promise<string[]> {
  const since = systemClock.elapsed()
  let left = 'nobody answers'
  while (systemClock.elapsed() - since < quietMsMax) {
    const answers = await Promise.all(
      world.members.map((member) =>
        askOnce(member, 'auditor', { method: 'GET', path: '/api/sessions?active=true' }),
      ),
    )
    const active = answers.map((answer) => (answer?.body['sessions'] as { id: string }[] | undefined) ?? null)
    if (active.every((sessions) => sessions?.length === 0)) return []
    left = active.map((sessions) => sessions?.map(({ id }) => id).join(' ') ?? 'no answer').join(' | ')
    await pause(500)
  }
  return [`sessions still work: ${left}`]
}

export async function judge(chaos: Chaos, started: boolean): Promise<Line[]> {
  const { world, history, directory } = chaos
  const { members } = world
  const restless = started ? await untilQuiet(chaos) : ['the nodes did not start']
  const agreement = await judgeAgreement(history, members, agreedMax)
  await Promise.all(members.map((member) => member.terminate()))
  const rows = await readRows(`postgres://tieline@127.0.0.1:${world.postgres.port}/postgres`)
  const events = rows.flatMap(({ parsed }) => parsed)
  writeFileSync(join(directory, 'log.jsonl'), rows.map((row) => JSON.stringify(row)).join('\n'))
  writeFileSync(join(directory, 'history.jsonl'), history.acts.map((act) => JSON.stringify(act)).join('\n'))
  const slow = history.recoveredMs.filter((ms) => ms > recoveredMsMax)
  return [
    judgeAcknowledged(history, events),
    judgeOutcomes(history, events),
    agreement,
    ...judgeLog(rows),
    judgeEffects(directory),
    {
      law: 'R10 every node has the same events in the same order, and views that follow from them',
      tried: rows.length * members.length,
      problems: members.flatMap((member) => checkReplica(member, rows)),
    },
    {
      law: 'R10 followers at all nodes hear the same',
      tried: history.seenTotal,
      problems: history.seenOtherwise,
    },
    { law: 'clients get no answer of 500', tried: history.acts.length, problems: history.odd },
    { law: 'everything comes to rest', tried: 1, problems: restless },
    {
      law: 'nodes neither end by themselves nor ignore SIGTERM',
      tried: members.length,
      problems: members.flatMap(({ crashes, deaf }) => [...crashes, ...deaf]),
    },
    {
      law: `writes go on within ${recoveredMsMax / 1000} s after the database is back`,
      tried: history.recoveredMs.length,
      problems: slow.map((ms) => `${ms} ms`),
    },
  ]
}
