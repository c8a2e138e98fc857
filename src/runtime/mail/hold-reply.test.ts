/** Replies to a session that a person has open in a program: each is a wake, and may be held back. */
import { expect, test } from 'vitest'
import { as, mailWorld, type MailWorld } from '../../../test/kits/mail.ts'
import type { SessionId } from '../../model/id.ts'
import { userSession } from '../../model/mail.ts'
import { closeClient, openClient } from './presence.ts'

/** A session that somebody has open, and a client that answers what it writes. */
async function opened() {
  const w = await mailWorld()
  const [mine, peer] = [await w.open('coder'), await w.open('external')]
  w.node.runtime.wake = { default: 'next', replies: 'wake', perHour: 2, codex: false, senders: {} }
  await openClient(w.node.runtime, mine, 'opencode')
  let asked = 0
  const answer = async (): Promise<string> => {
    const id = `q${(asked += 1)}`
    await w.use(mine, 'send-message', { session: peer, message: 'how many?', id })
    await w.ok(w.exchange.mail.accept(as(peer), peer, id, null))
    const ask = { message: 'three', reply: [id], id: `a${asked}` }
    const sent = await w.ok(w.exchange.mail.send(as(peer), ask, null, null))
    await w.rested(mine)
    return sent.status
  }
  const wakes = async () => (await w.events('session.woken')).map(({ event }) => event)
  return { w, mine, answer, wakes }
}

const quiet = (w: MailWorld, session: SessionId, ms: number) =>
  w.store.transact([`session:${session}`], async (tx) =>
    tx.append({ type: 'session.quieted', session, turn: null, until: tx.now + ms }),
  )

test('K3: a reply starts a session that is open, on record, so often in an hour and no more', async () => {
  const { w, mine, answer, wakes } = await opened()
  expect([await answer(), await answer(), await answer()]).toEqual(['delivered', 'delivered', 'ready'])
  expect(await wakes()).toMatchObject([
    { session: mine, messages: ['a1'], reason: 'reply a1 to q1' },
    { session: mine, messages: ['a2'], reason: 'reply a2 to q2' },
  ])
  w.clock.jump(3_700_000)
  expect(await answer()).toBe('delivered')
})

test('K6: in a quiet time a reply waits in the inbox, of the session or of all', async () => {
  for (const whose of ['own', 'all'] as const) {
    const { w, mine, answer, wakes } = await opened()
    await quiet(w, whose === 'own' ? mine : userSession, 60_000)
    expect(await answer()).toBe('ready')
    expect(await wakes()).toEqual([])
    w.clock.jump(61_000)
    expect(await answer()).toBe('delivered')
  }
})

test('a session that nobody has open any more gets its replies at once, and that is no wake', async () => {
  const { w, mine, answer, wakes } = await opened()
  await closeClient(w.node.runtime, mine, 'it said so')
  await quiet(w, mine, 60_000)
  expect(await answer()).toBe('delivered')
  expect(await wakes()).toEqual([])
})

test('K2: a sender whose replies are held does not start it', async () => {
  const { w, answer, wakes } = await opened()
  w.node.runtime.wake = { default: 'next', replies: 'hold', perHour: 2, codex: false, senders: {} }
  expect(await answer()).toBe('ready')
  expect(await wakes()).toEqual([])
})
