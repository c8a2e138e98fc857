/** The mutations made by hand must keep up with the code: each is found by a text that occurs once. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { instrumentAll } from '../../mutants/model/plugin.ts'
import { readReach } from '../../mutants/model/reach.ts'
import { findProblem, findRoom, mutate, readMutations } from '../../mutants/mutation.ts'
import { findFailure } from '../../mutants/judge.ts'
import { readNoticed, recordNoticed, wasNoticed } from '../../mutants/noticed.ts'
import { passes } from '../../mutants/score.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const mutations = readMutations(root)

test('every mutation still applies to exactly one place, and gives TypeScript', () => {
  expect(mutations.flatMap((mutation) => findProblem(mutation, root) ?? [])).toEqual([])
})

test('every mutation names tests that exist', () => {
  const missing = mutations.flatMap(({ tests }) => tests.filter((file) => !existsSync(join(root, file))))
  expect(missing).toEqual([])
  expect(mutations.filter(({ tests }) => tests.length === 0)).toEqual([])
})

test('no two mutations of a file say the same', () => {
  const names = mutations.map(({ file, says }) => `${file}: ${says}`)
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
})

test('there are mutations of every room and of every layer that decides something', () => {
  const rooms = new Set(mutations.map(findRoom))
  for (const room of ['kernel', 'look', 'turns', 'calls', 'mail', 'sessions', 'replay', 'desk'])
    expect(rooms).toContain(`runtime/${room}`)
  for (const room of ['store', 'server', 'tools', 'views', 'client', 'adapters/model', 'adapters/mcp'])
    expect(rooms).toContain(room)
  expect(mutations.length).toBeGreaterThanOrEqual(120)
})

test('a mutation whose text is gone, or is there twice, is named', () => {
  const mutation = { says: 'a planted mistake', file: 'a.ts', find: 'x', replace: 'y', tests: [] }
  expect(() => mutate(mutation, 'z')).toThrow('a.ts: "a planted mistake" no longer applies')
  expect(() => mutate(mutation, 'x x')).toThrow('occurs 2 times')
  expect(mutate(mutation, 'let x')).toBe('let y')
})

test('a survivor fails the run unless its entry explains it, and few may survive', () => {
  const mutation = { says: '', file: 'src/store/a.ts', find: '', replace: '', tests: [] }
  const verdicts = (killed: number, alive: number, why?: string) =>
    Array.from({ length: killed + alive }, (_, index) => ({
      mutation: why === undefined ? mutation : { ...mutation, alive: why },
      killedBy: index < killed ? 'a test' : null,
      seconds: 0,
    }))
  expect(passes(verdicts(10, 0))).toBe(true)
  expect(passes(verdicts(10, 1))).toBe(false)
  expect(passes(verdicts(10, 1, 'the same'))).toBe(true)
  expect(passes(verdicts(8, 1, 'the same'))).toBe(false)
})

test('the rules can be given all their mutants, each with an id of its own', () => {
  const all = [...instrumentAll(root).values()].flatMap(({ mutants }) => mutants)
  expect(all.length).toBeGreaterThan(4000)
  expect(all.map(({ id }) => id)).toEqual(all.map((_, index) => index))
})

test("a mutant is tried by its file's own tests, which have the name of the file or begin with it", () => {
  const { isNear } = readReach(root)
  expect([isNear('call', 'call'), isNear('call-grant', 'call')]).toEqual([true, true])
  expect([isNear('end', 'call'), isNear('event', 'end')]).toEqual([false, false])
  const untested = [...instrumentAll(root)]
    .filter(([, { mutants }]) => mutants.length > 0)
    .map(([file]) => file)
    .filter((file) => !existsSync(join(root, file.replace(/\.ts$/, '.test.ts'))))
  expect(untested).toEqual([])
})

test('what was noticed is on record with the test that did, and leaves it when it survives', () => {
  const mutation = { says: 'a mistake', file: 'src/store/a.ts', find: 'x', replace: 'y', tests: [] }
  const verdict = (killedBy: string | null) => [{ mutation, killedBy, seconds: 0 }]
  const noticed = recordNoticed({ model: {}, byHand: {} }, verdict('a test'), new Map([['a.ts', 0.9]]))
  expect(noticed).toEqual({ model: { 'a.ts': 0.9 }, byHand: { 'src/store/a.ts: a mistake': 'a test' } })
  expect(wasNoticed(noticed, mutation)).toBe(true)
  expect(wasNoticed(recordNoticed(noticed, verdict(null), new Map()), mutation)).toBe(false)
})

test('the record of what was noticed names mutations that there are', () => {
  const names = new Set(mutations.map(({ file, says }) => `${file}: ${says}`))
  expect(Object.keys(readNoticed(root).byHand).filter((name) => !names.has(name))).toEqual([])
})

test('a test that only ran out of time is not taken for one that failed', () => {
  const report = (why: string) => [
    { file: 'src/store/a.test.ts', errors: [], failed: [{ name: 'the second', errors: [why] }] },
  ]
  const name = 'src/store/a.test.ts: the second'
  expect(findFailure(report('Error: Test timed out in 60000ms.'))).toEqual({ name, isTimed: true })
  expect(findFailure(report('AssertionError: expected 1 to be 2'))).toEqual({ name, isTimed: false })
  expect(findFailure(report('Matcher did not succeed in time.'))).toEqual({ name, isTimed: true })
  expect(findFailure([])).toBeNull()
})
