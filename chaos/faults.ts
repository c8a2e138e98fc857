/**
 * What goes wrong, as data: a name, and how it is done and undone. Which comes when is drawn from the seed; one
 * at a time or two of different kinds at once.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pause } from '../hostile/attack.ts'
import type { Random } from '../sim/random.ts'
import { systemClock } from '../src/runtime/kernel/system-clock.ts'
import type { Postgres } from '../test/kits/postgres.ts'
import type { Member } from './member.ts'

export type Disk = { path: string; fill(): void; empty(): void; remove(): void }
export type World = {
  members: readonly Member[]
  postgres: Postgres
  /** Of the database; null where this machine lets nobody mount one. */
  disk: Disk | null
  /** When the database was there again after it had been away. */
  backAt: number[]
  /** Which node a fault was done to, from when to when; the end is not there yet while it goes on. */
  touched: { member: Member; from: number; to: number | null }[]
}

export type Fault = {
  name: string
  /** What it is done to: two faults at once never share one. */
  about: 'node' | 'database' | 'network'
  isPossible(world: World): boolean
  /** Resolves when it is undone. */
  hit(world: World, random: Random): Promise<void>
}

const always = (): boolean => true
const between = (random: Random, least: number, most: number): number => least + random.below(most - least)

/** Draws the node that a fault is done to, and notes for how long. */
async function touchOne(
  { members, touched }: World,
  random: Random,
  hit: (member: Member) => Promise<unknown>,
): Promise<void> {
  const touch: World['touched'][number] = {
    member: random.pick(members),
    from: systemClock.elapsed(),
    to: null,
  }
  touched.push(touch)
  await hit(touch.member)
  touch.to = systemClock.elapsed()
}

async function startAgain({ postgres, backAt }: World): Promise<void> {
  // After a kill it reads its log first; on a disk that was full it may need more than one try.
  for (let n = 0; n < 10 && !postgres.isUp(); n += 1) await postgres.start().catch(() => pause(200))
  backAt.push(systemClock.elapsed())
}

export const faults: readonly Fault[] = [
  {
    name: 'node killed',
    about: 'node',
    isPossible: always,
    hit: (world, random) =>
      touchOne(world, random, async (member) => {
        await member.kill()
        await pause(between(random, 0, 2500))
        await member.start()
      }),
  },
  {
    name: 'node stopped in good order',
    about: 'node',
    isPossible: always,
    hit: (world, random) =>
      touchOne(world, random, async (member) => {
        await member.terminate()
        await pause(between(random, 0, 1000))
        await member.start()
      }),
  },
  {
    name: 'node frozen',
    about: 'node',
    isPossible: always,
    hit: (world, random) => touchOne(world, random, (member) => member.freeze(between(random, 300, 3500))),
  },
  {
    name: 'database restarted',
    about: 'database',
    isPossible: always,
    async hit(world, random) {
      await world.postgres.halt()
      await pause(between(random, 0, 1500))
      await startAgain(world)
    },
  },
  {
    name: 'database killed',
    about: 'database',
    isPossible: always,
    async hit(world, random) {
      await world.postgres.kill()
      await pause(between(random, 0, 2500))
      await startAgain(world)
    },
  },
  {
    name: 'database failed over',
    about: 'database',
    isPossible: always,
    async hit(world) {
      await world.postgres.moveElsewhere()
      for (const { proxy } of world.members) {
        proxy.retarget(world.postgres.port)
        proxy.cut()
      }
      world.backAt.push(systemClock.elapsed())
    },
  },
  {
    name: 'database disk full',
    about: 'database',
    isPossible: ({ disk }) => disk !== null,
    async hit(world, random) {
      world.disk?.fill()
      await pause(between(random, 500, 3000))
      world.disk?.empty()
      await startAgain(world)
    },
  },
  {
    name: 'connections cut',
    about: 'network',
    isPossible: always,
    hit: (world, random) =>
      touchOne(world, random, async ({ proxy }) => {
        for (let n = between(random, 1, 6); n > 0; n -= 1) {
          proxy.cut()
          await pause(between(random, 20, 300))
        }
      }),
  },
  {
    name: 'connections delayed',
    about: 'network',
    isPossible: always,
    hit: (world, random) =>
      touchOne(world, random, async ({ proxy }) => {
        proxy.delay(between(random, 5, 120))
        await pause(between(random, 500, 3000))
        proxy.delay(0)
      }),
  },
  {
    name: 'connections half-open',
    about: 'network',
    isPossible: always,
    async hit({ members }, random) {
      random.pick(members).proxy.unplug()
      await pause(between(random, 200, 1000))
    },
  },
  {
    name: 'connections frozen',
    about: 'network',
    isPossible: always,
    hit: (world, random) =>
      touchOne(world, random, async ({ proxy }) => {
        proxy.freeze()
        await pause(between(random, 200, 4000))
        proxy.thaw()
      }),
  },
  {
    name: 'answer to a commit lost',
    about: 'network',
    isPossible: always,
    async hit({ members }, random) {
      random.pick(members).proxy.loseAnswerTo('pg_advisory_xact_lock')
      await pause(between(random, 20, 200))
    },
  },
  {
    name: 'commit lost on its way',
    about: 'network',
    isPossible: always,
    async hit({ members }, random) {
      random.pick(members).proxy.loseFlight('insert into')
      await pause(between(random, 20, 200))
    },
  },
]

/** A disk of its own, so that it can be full. */
export function mountDisk(sizeMb: number): Disk | null {
  const path = mkdtempSync(join(tmpdir(), 'tieline-chaos-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMb}m,mode=777`, 'tmpfs', path], { stdio: 'pipe' })
  } catch {
    // Only root on Linux may: then this fault is left out, and the summary says so.
    rmdirSync(path)
    return null
  }
  const ballast = join(path, 'ballast')
  return {
    path,
    fill() {
      for (let bytes = 4 * 1024 * 1024, n = 0; bytes >= 512;) {
        try {
          writeFileSync(`${ballast}-${(n += 1)}`, Buffer.alloc(bytes, 1))
        } catch {
          bytes /= 2
        }
      }
    },
    empty: () => execFileSync('sh', ['-c', `rm -f ${ballast}-*`]),
    remove() {
      execFileSync('umount', ['-l', path])
      rmSync(path, { recursive: true, force: true })
    },
  }
}
