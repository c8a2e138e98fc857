/** Finding sessions, and pages of their conversations. */
import { expect, test } from 'vitest'
import { letter, mailWorld, user } from '../../../test/kits/mail.ts'
import { isRefusal } from '../../model/refusal.ts'
import { findSession, readHistory } from './look.ts'

test('a conversation is read in pages from either end, each entry once, until nothing is left', async () => {
  const w = await mailWorld()
  const id = await w.open('coder')
  for (const text of ['one', 'two', 'three']) {
    await w.ok(w.exchange.send(user, letter(id, text)))
    await w.rested(id)
  }
  const page = async (before: number | null, after: number | null = null) => {
    const read = await readHistory(w.node.runtime, id, before, 2, after)
    return isRefusal(read) ? read : [read.messages.map(({ n }) => n), read.next]
  }
  expect([await page(null), await page(5), await page(3)]).toEqual([
    [[5, 6], 5],
    [[3, 4], 3],
    [[1, 2], null],
  ])
  expect([await page(null, 0), await page(null, 2), await page(null, 4)]).toEqual([
    [[1, 2], 2],
    [[3, 4], 4],
    [[5, 6], null],
  ])
})

test('an entry says who wrote it: the user, or the session that called or wrote', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  await w.ok(w.exchange.send(user, letter(b, 'mine')))
  await w.rested(b)
  await w.use(a, 'send_agent_message', { sessionId: b, message: 'theirs' })
  await w.rested(b)
  const read = await w.ok(readHistory(w.node.runtime, b, null, 10))
  expect(read.messages.map(({ role, from, source, outcome }) => [role, from, source, outcome])).toEqual([
    ['user', null, 'user', null],
    ['assistant', null, null, 'completed'],
    ['user', a, 'agent', null],
    ['assistant', null, null, 'completed'],
  ])
})

test('a session is found by its id, by a part that only it has, or as the newest that is not a client', async () => {
  const w = await mailWorld()
  const [one, two] = [await w.open('coder', { id: 'blue-one' }), await w.open('coder', { id: 'blue-two' })]
  await w.open('external', { id: 'green' })
  const find = async (given: string) => {
    const found = await findSession(w.node.runtime, given)
    return isRefusal(found) ? found.code : found.id
  }
  expect([
    await find(one),
    await find('blue-tw'),
    await find('blue'),
    await find('red'),
    await find(''),
  ]).toEqual([one, two, 'session_ambiguous', 'session_unknown', 'session_unknown'])
  w.clock.jump(1000)
  const newest = await w.open('coder', { id: 'newest' })
  w.clock.jump(1000)
  await w.open('external', { id: 'newer' })
  expect(await find('last')).toBe(newest)
})
