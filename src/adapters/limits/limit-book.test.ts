import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { virtualClock } from '../../../test/kits/world.ts'
import { limitBook } from './limit-book.ts'

const makeDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-limits-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

test('a limit that a provider reports is known until it is reset, or until the provider answers', () => {
  const clock = virtualClock()
  const book = limitBook({ clock, directory: null })
  book.note('one', '429 slow down', 90_000)
  expect(book.find('one')).toEqual({ why: '429 slow down', resetsAt: clock.now() + 90_000 })
  expect(book.find('two')).toBeNull()
  void clock.sleep(90_000)
  clock.tick()
  expect(book.find('one')).toBeNull()
  book.note('one', 'again', 60_000)
  expect(book.find('one')).not.toBeNull()
  book.forget('one')
  expect(book.find('one')).toBeNull()
})

test('a reported limit is not forgotten at a restart, is written without secrets, and ends when it ends', async () => {
  const [clock, directory] = [virtualClock(), makeDirectory()]
  const clean = (text: string): string => text.replaceAll('hush', '…')
  const book = limitBook({ clock, directory, clean })
  book.note('one', 'hush: over', 90_000)
  book.note('two', 'over', 10_000)
  book.note('three', 'over', 90_000)
  book.forget('three')
  await book.close()
  expect(readFileSync(join(directory, 'limits.json'), 'utf8')).not.toMatch(/hush|three/)
  void clock.sleep(20_000)
  clock.tick()
  const next = limitBook({ clock, directory })
  expect(next.find('one')).toEqual({ why: '…: over', resetsAt: clock.now() + 70_000 })
  expect([next.find('two'), next.find('three')]).toEqual([null, null])
})

test('a file of limits that is broken, or from a clock that was wrong, closes nobody for ever', () => {
  const [clock, directory] = [virtualClock(), makeDirectory()]
  writeFileSync(join(directory, 'limits.json'), '{"one":')
  expect(limitBook({ clock, directory }).find('one')).toBeNull()
  writeFileSync(join(directory, 'limits.json'), '{"one":{"why":"x","resetsAt":9e15}}')
  const found = limitBook({ clock, directory }).find('one')
  expect(found?.resetsAt).toBeLessThan(clock.now() + 32 * 24 * 3_600_000)
})

test('R11: of many limits those that were reported last are kept', () => {
  const book = limitBook({ clock: virtualClock(), directory: null })
  for (let n = 0; n <= 200; n += 1) book.note(`p${n}`, 'over', 60_000)
  expect([book.find('p0'), book.find('p200')?.why]).toEqual([null, 'over'])
})

test('what is used of a window is known until its reset, also after a restart, and the last word counts', async () => {
  const [clock, directory] = [virtualClock(), makeDirectory()]
  const book = limitBook({ clock, directory })
  const [soon, later] = [clock.now() + 10_000, clock.now() + 90_000]
  book.see('one', [
    { name: '5 hours', used: 0.5, resetsAt: soon },
    { name: 'week', used: 0.2, resetsAt: later },
  ])
  book.see('one', [{ name: 'week', used: 0.3, resetsAt: later }])
  book.forget('one')
  expect(book.windows('one')).toEqual([
    { name: '5 hours', used: 0.5, resetsAt: soon },
    { name: 'week', used: 0.3, resetsAt: later },
  ])
  expect([book.find('one'), book.windows('two')]).toEqual([null, []])
  await book.close()
  void clock.sleep(20_000)
  clock.tick()
  const next = limitBook({ clock, directory })
  expect(next.windows('one')).toEqual([{ name: 'week', used: 0.3, resetsAt: later }])
  expect(next.find('one')).toBeNull()
})

test('windows that are reported with each answer are not written with each answer', async () => {
  const [clock, directory] = [virtualClock(), makeDirectory()]
  const book = limitBook({ clock, directory })
  const resetsAt = clock.now() + 1_000_000
  const read = (): unknown => JSON.parse(readFileSync(join(directory, 'limits.json'), 'utf8'))
  for (const used of [0.1, 0.2, 0.3]) book.see('one', [{ name: 'week', used, resetsAt }])
  await book.close()
  expect(read()).toMatchObject({ one: { windows: [{ used: 0.3 }] } })
  book.see('one', [{ name: 'week', used: 0.4, resetsAt }])
  const other = limitBook({ clock, directory })
  expect(other.windows('one')).toMatchObject([{ used: 0.3 }])
})

test('R11: of many windows those that were reported last are kept', () => {
  const clock = virtualClock()
  const book = limitBook({ clock, directory: null })
  const resetsAt = clock.now() + 60_000
  book.see(
    'one',
    Array.from({ length: 12 }, (_, n) => ({ name: `w${n}`, used: 0, resetsAt })),
  )
  expect(book.windows('one').map(({ name }) => name)).toEqual(
    Array.from({ length: 10 }, (_, n) => `w${n + 2}`),
  )
})

test('R11: of many agents the windows of those that reported last are kept', () => {
  const clock = virtualClock()
  const book = limitBook({ clock, directory: null })
  const see = (who: string): void =>
    book.see(who, [{ name: 'week', used: 0.5, resetsAt: clock.now() + 60_000 }])
  for (let n = 0; n < 200; n += 1) see(`p${n}`)
  see('p0')
  see('p200')
  expect(['p0', 'p1', 'p2', 'p200'].map((who) => book.windows(who).length)).toEqual([1, 0, 1, 1])
})

test('what was reported since the last writing is written when the server ends', async () => {
  const [clock, directory] = [virtualClock(), makeDirectory()]
  const book = limitBook({ clock, directory })
  const see = (used: number): void =>
    book.see('one', [{ name: 'week', used, resetsAt: clock.now() + 60_000 }])
  see(0.1)
  await book.close()
  see(0.4)
  await book.close()
  expect(limitBook({ clock, directory }).windows('one')).toMatchObject([{ used: 0.4 }])
})

test('many that are over their limit at once are written together, not each with all others', async () => {
  const [clock, directory] = [virtualClock(), makeDirectory()]
  let reads = 0
  const now = (): number => {
    reads += 1
    return clock.now()
  }
  const book = limitBook({ clock: { now, elapsed: () => clock.elapsed() }, directory })
  for (let n = 0; n < 100; n += 1) book.note(`agent ${n}`, 'over', 90_000)
  await book.close()
  expect(reads).toBeLessThan(300)
  const again = limitBook({ clock, directory })
  expect(again.find('agent 0')).not.toBeNull()
  expect(again.find('agent 99')).not.toBeNull()
})
