/** The inbox of a client: its own, and that of the address that it shares with others. */
import { mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { as, mailWorld, user } from '../../../test/kits/mail.ts'
import type { SessionId } from '../../model/id.ts'
import { isRefusal } from '../../model/refusal.ts'
import { acceptOwnMail, findReceiver, readOwnInbox } from './address-inbox.ts'
import type { AcceptAsk } from './mail-inbox.ts'
import { releaseWaiting } from './release-waiting.ts'

/** Two clients at one address, with mail for one of them and for the address in turn. */
async function shared() {
  const w = await mailWorld()
  const [one, two, address] = [await w.open('external'), await w.open('external'), await w.open('external')]
  const write = (session: SessionId, id: string) =>
    w.ok(w.exchange.mail.send(user, { session, message: id, id }, null, null))
  await write(address, 'm1')
  await write(one, 'm2')
  await write(address, 'm3')
  const { runtime } = w.node
  const rowOf = async (id: SessionId) => {
    const row = await runtime.store.session(id)
    if (row === null) throw new Error('no session')
    return row
  }
  const reader = (session: SessionId) => ({ session, running: null, address })
  const accept = async (
    session: SessionId,
    which: AcceptAsk['which'] = { kind: 'oldest' },
    act: string | null = null,
  ) => {
    const ask = { session: await rowOf(session), which, replies: null, act }
    return acceptOwnMail(runtime, reader(session), ask)
  }
  const list = async (session: SessionId, limit = 10) => {
    const ask = { replies: null, limit, after: null, unitsMax: Infinity }
    const page = await readOwnInbox(runtime, reader(session), await rowOf(session), ask)
    return isRefusal(page) ? page : { ids: page.messages.map(({ id }) => id), total: page.total }
  }
  return { w, runtime, one, two, address, accept, list, rowOf }
}

test('a client sees its own mail and that of its address, oldest first, and all of it is counted', async () => {
  const { one, two, list } = await shared()
  expect(await list(one)).toEqual({ ids: ['m1', 'm2', 'm3'], total: 3 })
  expect(await list(one, 2)).toEqual({ ids: ['m1', 'm2'], total: 3 })
  expect(await list(two)).toEqual({ ids: ['m1', 'm3'], total: 2 })
})

test('M2: what one client has taken is gone for the others, which are given the next', async () => {
  const { one, two, accept, list } = await shared()
  expect(await accept(one)).toEqual({ message: 'm1' })
  expect(await list(two)).toEqual({ ids: ['m3'], total: 1 })
  expect(await accept(two)).toEqual({ message: 'm3' })
  expect(await accept(two)).toEqual({ message: null })
  expect(await accept(one)).toEqual({ message: 'm2' })
})

test('R9: a client that asks again with the same key is given what it had taken, from whichever inbox', async () => {
  const { one, accept } = await shared()
  for (const message of ['m1', 'm2', 'm3']) {
    const key = message.repeat(20)
    expect(await accept(one, { kind: 'oldest' }, key)).toEqual({ message })
    expect(await accept(one, { kind: 'oldest' }, key)).toEqual({ message })
  }
})

test('M2: a message that another takes at the same moment is passed over, unless it was named', async () => {
  for (const [which, expected] of [
    [{ kind: 'oldest' }, { message: 'm3' }],
    [{ kind: 'named', name: 'm1' }, { code: 'message_taken' }],
  ] as const) {
    const { runtime, one, two, accept } = await shared()
    const transact = runtime.store.transact.bind(runtime.store)
    runtime.store.transact = async (keys, work, first) => {
      runtime.store.transact = transact
      await accept(one, { kind: 'named', name: 'm1' })
      return transact(keys, work, first)
    }
    expect(await accept(two, which)).toMatchObject(expected)
  }
})

test('A3: mail to an address where nobody has worked yet opens its inbox, once', async () => {
  const w = await mailWorld()
  const { runtime } = w.node
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'tieline-address-')))
  const known = await w.exchange.clientSession('claude-code', dir)
  const other = realpathSync(mkdtempSync(join(tmpdir(), 'tieline-address-')))
  const found = await findReceiver(runtime, `claude-code@${other}`)
  if (isRefusal(found)) throw new Error(JSON.stringify(found))
  expect(found).toMatchObject({ kind: 'external', cwd: other })
  expect(found.id).not.toBe(known)
  expect(await findReceiver(runtime, `claude-code@${other}`)).toMatchObject({ id: found.id })
  expect((await w.events('session.created')).filter(({ event }) => event.cwd === other)).toHaveLength(1)
  expect(await findReceiver(runtime, 'claude-code@/nowhere-at-all')).toMatchObject({
    code: expect.any(String) as string,
  })
})

test('M6: a person releases mail of the client that was named, and of no other', async () => {
  const { w, runtime, one, two, address, rowOf } = await shared()
  const release = async (session: SessionId, name: string) =>
    releaseWaiting(runtime, await rowOf(session), { kind: 'named', name }, null)
  expect(await release(two, 'm2')).toEqual({ code: 'message_unknown', message: 'm2' })
  expect(await w.exchange.mail.message(user, 'm2')).toMatchObject({ status: 'buffered' })
  expect(await release(one, 'm2')).toEqual({ message: 'm2' })
  expect(await w.exchange.mail.message(as(one), 'm2')).toMatchObject({ status: 'ready' })
  expect(await release(address, 'm1')).toEqual({ message: 'm1' })
})
