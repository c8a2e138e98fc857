import { expect, test } from 'vitest'
import type { Key } from '../../runtime/kernel/store-port.ts'
import { needsEverything, takeGroup, type Job } from './group.ts'

const job = (keys: readonly string[], more: Partial<Job> = {}): Job => ({
  keys: keys as Key[],
  reruns: 0,
  known: null,
  held: false,
  work: () => Promise.resolve(),
  resolve: () => undefined,
  reject: () => undefined,
  ...more,
})
const many = (count: number): string[] => Array.from({ length: count }, (_, n) => `session:${n}`)
const take = (jobs: Job[]): { taken: Key[][]; left: Key[][] } => {
  const taken = takeGroup(jobs).map(({ keys }) => [...keys])
  return { taken, left: jobs.map(({ keys }) => [...keys]) }
}

test('works that share a key never run together, and nobody passes one that waits for it', () => {
  expect(take([job(['a']), job(['b']), job(['a', 'c']), job(['c']), job(['d'])])).toEqual({
    taken: [['a'], ['b'], ['d']],
    left: [['a', 'c'], ['c']],
  })
})

test('one whose texts are looked at waits, and so does who shares a key with it', () => {
  expect(take([job(['a'], { held: true }), job(['a']), job(['b'])])).toEqual({
    taken: [['b']],
    left: [['a'], ['a']],
  })
})

test('a work that lacked keys too often, or needs very many, is alone and is not passed', () => {
  expect([5, 6].map((reruns) => needsEverything(job([], { reruns })))).toEqual([false, true])
  expect([256, 257].map((count) => needsEverything(job(many(count))))).toEqual([false, true])
  const alone = job(['x'], { reruns: 6 })
  expect(take([job(['a']), alone, job(['b'])])).toEqual({ taken: [['a']], left: [['x'], ['b']] })
  expect(take([alone, job(['b'])])).toEqual({ taken: [['x']], left: [['b']] })
})

test('one that must be alone and is looked at keeps nobody else waiting', () => {
  expect(take([job(['x'], { reruns: 6, held: true }), job(['b'])]).taken).toEqual([['b']])
})

test('a group has at most 256 works and 256 keys', () => {
  const works = Array.from({ length: 300 }, () => job([]))
  expect(takeGroup(works).length).toBe(256)
  expect(works.length).toBe(44)
  const two = [job(many(200)), job(Array.from({ length: 57 }, (_, n) => `flow:${n}`)), job(['call:1'])]
  expect(takeGroup(two).map(({ keys }) => keys.length)).toEqual([200, 1])
})
