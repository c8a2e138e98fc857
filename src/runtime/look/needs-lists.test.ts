/** What belongs on the list of what waits for a person, and what does not. */
import { expect, test } from 'vitest'
import { as, mailWorld, user } from '../../../test/kits/mail.ts'
import type { StoredEvent } from '../../model/event.ts'
import { listNeeds } from './needs.ts'

test('drafts of agents and mail to the user wait for the user; the drafts of the user wait for nobody', async () => {
  const w = await mailWorld({ release: 'person' })
  const [client, b] = [await w.open('external'), await w.open('coder')]
  await w.ok(w.exchange.mail.send(as(client), { session: b, message: 'theirs', id: 'd1' }, null, null))
  const own = { session: b, message: 'mine', id: 'd2', draft: true }
  await w.ok(w.exchange.mail.send(user, own, null, null))
  await w.ok(w.exchange.mail.send(user, { session: client, message: 'please', id: 'q' }, null, null))
  await w.ok(w.exchange.mail.accept(as(client), client, 'q', null))
  const answer = { message: 'here it is', reply: ['q'], id: 'a' }
  await w.ok(w.exchange.mail.send(as(client), answer, null, null))
  const { needs, total } = await listNeeds(w.node.runtime)
  expect(needs.map(({ kind, id }) => [kind, id]).toSorted()).toEqual([
    ['draft', 'd1'],
    ['mail', 'a'],
  ])
  expect(total).toBe(2)
  expect(needs.find(({ kind }) => kind === 'mail')).toMatchObject({
    text: 'here it is',
    session: client,
    acts: ['accept', 'reply', 'decline'],
  })
})

test('a failure that nobody looked at for a week is history', async () => {
  const w = await mailWorld({ agents: { bad: { script: () => Promise.reject(new Error('broke')) } } })
  await w.run('bad', 'do it')
  const kinds = async () => (await listNeeds(w.node.runtime)).needs.map(({ kind }) => kind)
  expect(await kinds()).toEqual(['failure'])
  w.clock.jump(6 * 24 * 3_600_000)
  expect(await kinds()).toEqual(['failure'])
  w.clock.jump(2 * 24 * 3_600_000)
  expect(await kinds()).toEqual([])
})

test('R11: of many questions the newest hundred are shown, and all are counted', async () => {
  const w = await mailWorld()
  const session = await w.open('coder')
  const asked = Array.from({ length: 103 }, (_, n): StoredEvent => ({
    seq: n + 1,
    at: n + 1,
    event: {
      type: 'question.asked',
      session,
      turn: null,
      question: `question_${n}`,
      key: 'k',
      agent: 'coder',
      tool: 'danger',
      input: {},
      path: ['coder'],
      flow: 'flow_none',
      deadline: 0,
    } as unknown as StoredEvent['event'],
  }))
  w.node.runtime.lists.openQuestions = async () => asked
  const { needs, total } = await listNeeds(w.node.runtime)
  expect([needs.length, needs[0]?.id, needs.at(-1)?.id, total]).toEqual([
    100,
    'question_102',
    'question_3',
    103,
  ])
})
