import { expect, test } from 'vitest'
import { inTurn } from './replace-file.ts'

const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('an edit that comes when the first of two is over waits for the second; other files go on', async () => {
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const done: string[] = []
  const one = inTurn('/work/a', () => first.promise)
  const two = inTurn('/work/a', () => second.promise)
  first.resolve()
  await one
  await soon()
  const three = inTurn('/work/a', async () => done.push('third'))
  await inTurn('/work/b', async () => done.push('other'))
  await soon()
  expect(done).toEqual(['other'])
  second.reject(new Error('no space'))
  await expect(two).rejects.toThrow('no space')
  await three
  expect(done).toEqual(['other', 'third'])
})
