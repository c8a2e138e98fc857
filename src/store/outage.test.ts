/**
 * A disk that fails, for real where this machine can do it: nobody is acknowledged, reading goes on, and the
 * store comes back by itself.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { hasSmallDisks, removeLater, smallDisk } from '../../test/kits/small-disk.ts'
import { append, created, sent, testClock } from '../../test/kits/store.ts'
import { StoreUnavailable, type StoreHealth } from '../runtime/kernel/store-health.ts'
import { StoreFault } from './directory.ts'
import { viewsEqual } from './rebuild.ts'
import { sqliteStore, type SqliteStore } from './sqlite.ts'

const large = 'x'.repeat(2_000_000)
const pauseMs = 5001

function opened(directory: string) {
  const [clock, told] = [testClock(), [] as StoreHealth['state'][]]
  const store = sqliteStore({ directory, now: clock.now, onHealth: ({ state }) => told.push(state) })
  return { store, told, later: () => clock.set(clock.now() + pauseMs) }
}

function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-outage-'))
  removeLater(directory)
  return directory
}

const catchRefusal = async (work: Promise<unknown>): Promise<StoreUnavailable['refusal']> =>
  work.then(
    () => Promise.reject(new Error('it was acknowledged')),
    (fault: unknown) => {
      if (fault instanceof StoreUnavailable) return fault.refusal
      throw fault
    },
  )

async function sessionsIn(store: SqliteStore): Promise<string[]> {
  return [...new Set((await store.read(0, {}, 1000)).events.map(({ event }) => event.session))]
}

test.skipIf(!hasSmallDisks)(
  'one ENOSPC broke the store until it was restarted: it writes again as soon as there is space',
  async () => {
    const disk = smallDisk(4)
    const { store, told, later } = opened(join(disk.path, 'data'))
    disk.atEnd(() => store.close())
    await append(store, created('ses_kept'))
    disk.fill()
    const refusals = await Promise.all(
      [
        append(store, created('ses_small')),
        append(store, sent('ses_kept', 'turn_1', { text: large })),
        append(store, created('ses_behind')),
      ].map(catchRefusal),
    )
    for (const refusal of refusals)
      expect(refusal).toMatchObject({
        code: 'store_unavailable',
        reason: 'the disk is full',
        path: join(disk.path, 'data', 'tieline.db'),
      })
    expect(refusals[0]?.freeBytes).toBeLessThan(1_000_000)
    expect(store.health()).toMatchObject({ state: 'unavailable' })
    // Reading goes on, and shows only what was acknowledged.
    expect(await sessionsIn(store)).toEqual(['ses_kept'])
    // A try that fails is not told again, and the next comes later.
    later()
    await catchRefusal(append(store, created('ses_still')))
    await catchRefusal(append(store, created('ses_still')))
    expect(told).toEqual(['unavailable'])
    disk.empty()
    later()
    await append(store, created('ses_after'))
    expect(store.health()).toEqual({ state: 'ok' })
    expect(told).toEqual(['unavailable', 'ok'])
    expect(await sessionsIn(store)).toEqual(['ses_kept', 'ses_after'])
    expect(store.lastSeq()).toBe(2)
    expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
  },
)

test.skipIf(!hasSmallDisks)(
  'a session that was acknowledged just before the disk was full could not be found: reads have all that is committed',
  async () => {
    const disk = smallDisk(4)
    const { store, later } = opened(join(disk.path, 'data'))
    disk.atEnd(() => store.close())
    await append(store, created('ses_kept'))
    disk.fill()
    const unwritten = (): Promise<unknown> =>
      catchRefusal(append(store, sent('ses_kept', 'turn_1', { text: large })))
    await unwritten()
    for (let round = 0; round < 2; round += 1) {
      expect(await store.session('ses_kept')).toMatchObject({ id: 'ses_kept' })
      expect(await store.turn('turn_1')).toBe(null)
      // A try that fails changes nothing of it.
      later()
      await unwritten()
    }
    disk.empty()
    later()
    await append(store, created('ses_after'))
    expect(await store.session('ses_after')).toMatchObject({ id: 'ses_after' })
    expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
  },
)

test.skipIf(!hasSmallDisks)(
  'a disk with room for the smallest commit only is not called usable, so that the store does not come and go',
  async () => {
    const disk = smallDisk(8)
    const { store, told, later } = opened(join(disk.path, 'data'))
    disk.atEnd(() => store.close())
    await append(store, created('ses_kept'))
    disk.fill(300_000)
    await catchRefusal(append(store, sent('ses_kept', 'turn_1', { text: large })))
    for (let round = 0; round < 3; round += 1) {
      later()
      await catchRefusal(append(store, created('ses_small')))
    }
    expect(told).toEqual(['unavailable'])
    disk.empty()
    later()
    await append(store, created('ses_after'))
    expect(told).toEqual(['unavailable', 'ok'])
  },
)

test('where the pages run out the group is refused as a whole, and the next try writes again', async () => {
  const { store, told, later } = opened(':memory:')
  await append(store, created('ses_kept'))
  const { page_count: pages } = store.db.prepare('pragma page_count').get() as { page_count: number }
  store.db.exec(`pragma max_page_count = ${pages + 2}`)
  const refusals = await Promise.all(
    [append(store, created('ses_before')), append(store, sent('ses_kept', 'turn_1', { text: large }))].map(
      catchRefusal,
    ),
  )
  expect(refusals.map(({ reason }) => reason)).toEqual(['the disk is full', 'the disk is full'])
  store.db.exec('pragma max_page_count = 1000000')
  later()
  await append(store, created('ses_after'))
  expect(await sessionsIn(store)).toEqual(['ses_kept', 'ses_after'])
  expect(told).toEqual(['unavailable', 'ok'])
  expect(viewsEqual(store.db).equal).toBe(true)
})

test('tries get rarer up to five seconds, and a store that fails again at once is tried no more often', async () => {
  const clock = testClock()
  const store = sqliteStore({ directory: ':memory:', now: clock.now })
  const { page_count: pages } = store.db.prepare('pragma page_count').get() as { page_count: number }
  const limit = (count: number): void => store.db.exec(`pragma max_page_count = ${count}`)
  limit(pages + 2)
  const pauses: number[] = []
  const fail = async (): Promise<void> =>
    void pauses.push(
      (await catchRefusal(append(store, created('ses_a'), sent('ses_a', 'turn_1', { text: large }))))
        .retryInMs,
    )
  for (let round = 0; round < 8; round += 1) {
    await fail()
    clock.set(clock.now() + (pauses.at(-1) ?? 0))
  }
  expect(pauses).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000])
  limit(1_000_000)
  await append(store, created('ses_b'))
  limit(pages + 2)
  await fail()
  expect(pauses.at(-1)).toBe(5000)
})

test('a log that is moved away while in use is noticed before the next yes, and not made again', async () => {
  const directory = scratch()
  const { store, later } = opened(directory)
  onTestFinished(() => store.close())
  await append(store, created('ses_kept'))
  const [file, away] = [join(directory, 'tieline.db'), join(directory, 'away.db')]
  renameSync(file, away)
  expect((await catchRefusal(append(store, created('ses_nowhere')))).reason).toContain(
    'deleted, moved or replaced',
  )
  later()
  await catchRefusal(append(store, created('ses_nowhere')))
  expect(existsSync(file)).toBe(false)
  renameSync(away, file)
  later()
  await append(store, created('ses_after'))
  expect(store.health()).toEqual({ state: 'ok' })
  expect(viewsEqual(store.db).equal).toBe(true)
  expect(store.lastSeq()).toBe((await store.read(0, {}, 100)).events.length)
})

test('R2: a caller was told of an end whose commit had failed, because it was in the log all the same', async () => {
  const directory = scratch()
  const { store, later } = opened(directory)
  onTestFinished(() => store.close())
  await append(store, created('ses_kept'))
  const [file, away] = [join(directory, 'tieline.db'), join(directory, 'away.db')]
  renameSync(file, away)
  await catchRefusal(append(store, created('ses_unsure')))
  // Its commit was made before the fault was found.
  expect(store.db.prepare('select count(*) as n from log').get()).toEqual({ n: 2 })
  expect(await sessionsIn(store)).toEqual(['ses_kept'])
  expect(await store.event(2)).toBeNull()
  expect(await store.read(0, {}, 1)).toMatchObject({ next: 1, more: false })
  renameSync(away, file)
  later()
  await append(store, created('ses_after'))
  expect(await sessionsIn(store)).toEqual(['ses_kept', 'ses_unsure', 'ses_after'])
  expect((await store.event(2))?.event.session).toBe('ses_unsure')
})

test('nothing is due whose opening nobody can read yet', async () => {
  const directory = scratch()
  const { store, later } = opened(directory)
  onTestFinished(() => store.close())
  await append(store, created('ses_kept'))
  const [file, away] = [join(directory, 'tieline.db'), join(directory, 'away.db')]
  renameSync(file, away)
  await catchRefusal(append(store, sent('ses_kept', 'turn_unsure')))
  expect(await store.due(0, 10)).toEqual({ calls: [], sessions: [], next: null, turns: [], lost: [] })
  renameSync(away, file)
  later()
  await append(store, created('ses_after'))
  expect((await store.due(0, 10)).sessions).toEqual(['ses_kept'])
})

test('the file that commits go to first is deleted while it is in use: nobody is told yes', async () => {
  const directory = scratch()
  const { store } = opened(directory)
  onTestFinished(() => store.close())
  await append(store, created('ses_kept'))
  rmSync(join(directory, 'tieline.db-wal'))
  expect((await catchRefusal(append(store, created('ses_nowhere')))).reason).toContain('-wal')
})

test.skipIf(!hasSmallDisks)(
  'a log on a read-only disk is refused with its path and the cure, and is not called damaged',
  async () => {
    const disk = smallDisk(4)
    const directory = join(disk.path, 'data')
    const { store } = opened(directory)
    await append(store, created('ses_kept'))
    await store.close()
    execFileSync('mount', ['-o', 'remount,ro', disk.path])
    const { size } = statSync(join(directory, 'tieline.db'))
    let said = ''
    try {
      sqliteStore({ directory, now: testClock().now })
    } catch (error) {
      said = error instanceof StoreFault ? error.message : `no StoreFault: ${String(error)}`
    }
    expect(said).toContain(directory)
    expect(said).toMatch(/written|writable/)
    expect(said).not.toMatch(/damaged|move it away|in use/)
    expect(statSync(join(directory, 'tieline.db')).size).toBe(size)
  },
)

test.skipIf(!hasSmallDisks)(
  'a log on a full disk is refused at the start with the free space, and nobody is told to move it away',
  async () => {
    const disk = smallDisk(2)
    const directory = join(disk.path, 'data')
    const { store } = opened(directory)
    await append(store, created('ses_kept'))
    await store.close()
    disk.fill()
    expect(() => sqliteStore({ directory, now: testClock().now })).toThrow(
      /disk is full.*0\.\d MB are free.*Free some space/,
    )
    disk.empty()
    const again = sqliteStore({ directory, now: testClock().now })
    disk.atEnd(() => again.close())
    expect(again.lastSeq()).toBe(1)
  },
)
