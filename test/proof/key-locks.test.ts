/** The locks under which works overlap in the simulator are those of PostgreSQL. */
import { expect, test } from 'vitest'
import { KeyLocks } from '../../sim/key-locks.ts'

const settle = async (): Promise<void> => {
  for (let tick = 0; tick < 20; tick += 1) await Promise.resolve()
}

/** Who has come so far, in order, and what each of them holds. */
function scene() {
  const locks = new KeyLocks()
  const came: string[] = []
  const enter = (name: string, taking: Promise<() => void>): Promise<() => void> =>
    taking.then((release) => {
      came.push(name)
      return release
    })
  const take = (name: string, ...keys: string[]) => enter(name, locks.take(keys))
  return { came, take, takeAll: (name: string) => enter(name, locks.takeAll()) }
}

test('works with different keys overlap, and those with one key come one after another', async () => {
  const { came, take } = scene()
  const first = await take('a b', 'a', 'b')
  void take('b c', 'b', 'c')
  await take('d', 'd')
  await settle()
  expect(came).toEqual(['a b', 'd'])
  first()
  await settle()
  expect(came).toEqual(['a b', 'd', 'b c'])
})

test('who wants everything waits for all, and whoever comes later waits behind it', async () => {
  const { came, take, takeAll } = scene()
  const held = [await take('a', 'a'), await take('b', 'b')]
  const all = takeAll('all')
  const later = [take('c', 'c'), take('d', 'd')]
  await settle()
  held[0]?.()
  await settle()
  expect(came).toEqual(['a', 'b'])
  held[1]?.()
  await settle()
  expect(came).toEqual(['a', 'b', 'all'])
  ;(await all)()
  await Promise.all(later)
  expect(came).toEqual(['a', 'b', 'all', 'c', 'd'])
})
