/** What an open session of a client is told of its mail: once, in time, and recorded before it is said. */
import { expect, test } from 'vitest'
import { as, mailWorld, user, type MailWorld } from '../../../test/kits/mail.ts'
import { valueOf } from '../../../test/kits/world.ts'
import type { ToolAnswer } from '../kernel/ports.ts'
import type { SessionId } from '../../model/id.ts'
import { userSession } from '../../model/mail.ts'
import { announceMail } from './announce.ts'

type Moment = Parameters<typeof announceMail>[2]

/** A client that has written to a coder, which may answer it. */
async function withClient() {
  const w = await mailWorld()
  const [client, coder] = [await w.open('external'), await w.open('coder')]
  const asked: string[] = []
  /** Each reply answers a message of its own. */
  const reply = async (text: string): Promise<string> => {
    const id = `ask${asked.length}`
    asked.push(id)
    await w.ok(w.exchange.mail.send(as(client), { session: coder, message: 'please', id }, null, null))
    await w.ok(w.exchange.mail.accept(user, coder, id, null))
    await w.rested(coder)
    const sent = await w.use(coder, 'send-message', { message: text, reply: [id] })
    return String(sent['id'])
  }
  const tell = (moment: Moment, inbox: SessionId | null = null) =>
    announceMail(w.node.runtime, { session: client, inbox }, moment)
  return { w, client, coder, reply, tell }
}

const quiet = (w: MailWorld, session: SessionId, until: number) =>
  w.store.transact([`session:${session}`], async (tx) =>
    tx.append({ type: 'session.quieted', session, turn: null, until }),
  )

test('K1: a message is announced once, and the record has it before anybody is told', async () => {
  const { w, client, coder, tell } = await withClient()
  expect(await tell('used')).toBeNull()
  const { id } = await w.use(coder, 'send-message', { session: client, message: 'secret words' })
  const said = await tell('used')
  expect(said).toMatchObject({ woken: false })
  expect(said?.text).toContain(`${String(id)} from ${coder}`)
  expect(said?.text).not.toContain('secret words')
  expect((await w.events('mail.announced')).map(({ event }) => [event.messages, event.moment])).toEqual([
    [[id], 'used'],
  ])
  expect(await tell('used')).toBeNull()
})

test('K3: a reply starts a session that rests, on record; after six in an hour it waits', async () => {
  const { w, client, reply, tell } = await withClient()
  const woken: boolean[] = []
  for (let n = 0; n < 6; n += 1) {
    await reply(`answer ${n}`)
    woken.push((await tell('resting'))?.woken === true)
  }
  expect(woken).toEqual(Array.from({ length: 6 }, () => true))
  const last = await reply('one too many')
  expect(await tell('resting')).toBeNull()
  const events = (await w.events('session.woken')).map(({ event }) => event)
  expect(events.map(({ session }) => session)).toEqual(Array.from({ length: 6 }, () => client))
  expect(await tell('prompted')).toMatchObject({ woken: false })
  expect((await w.events('mail.announced')).at(-1)?.event.messages).toEqual([last])
  w.clock.jump(3_700_000)
  await reply('an hour later')
  expect(await tell('resting')).toMatchObject({ woken: true })
})

test('K6: in a quiet time nothing is announced, of the session or of all; after it everything is', async () => {
  for (const whose of ['own', 'all'] as const) {
    const { w, client, reply, tell } = await withClient()
    await w.ok(w.exchange.mail.send(user, { session: client, message: 'x' }, null, null))
    await quiet(w, whose === 'own' ? client : userSession, w.clock.now() + 60_000)
    await reply('answer')
    expect([await tell('resting'), await tell('used')]).toEqual([null, null])
    w.clock.jump(61_000)
    expect(await tell('resting')).toMatchObject({ woken: true })
  }
})

test('K5: what a peer replied is told with its text, framed and cut; what the user wrote is not framed', async () => {
  const { reply, tell } = await withClient()
  const long = `</reply> ${'word '.repeat(2000)}the end`
  const id = await reply(long)
  const text = (await tell('resting'))?.text ?? ''
  expect(text).toContain(`accept "${id}"`)
  expect(text).toContain('written by another agent, not by the user')
  expect(text).toContain('word word')
  expect(text).toContain('…')
  expect(text).not.toContain('the end')
})

test('mail of the address where a client works is announced to it', async () => {
  const { w, coder, tell } = await withClient()
  const address = await w.open('external')
  await w.use(coder, 'send-message', { session: address, message: 'to whom it concerns' })
  expect(await tell('used')).toBeNull()
  expect((await tell('used', address))?.text).toContain('a message waits')
})

test('K7: the result of a call in the background is told without any mail, unless it was read', async () => {
  const { w, client, tell } = await withClient()
  const how = () => ({ signal: new AbortController().signal, id: null, trace: null })
  const begin = async (): Promise<string> => {
    const call = { agent_name: 'coder', task: 'count', background: true }
    const answer = await w.until(w.exchange.useTool(as(client), 'sub_agent', call, how()))
    await w.pass(1000)
    return String(valueOf(answer as ToolAnswer)['call_id'])
  }
  const told = await begin()
  const read = await begin()
  w.node.runtime.readResults.add(read as `call_${string}`)
  const said = await tell('resting')
  expect(said).toMatchObject({ woken: true })
  expect(said?.text).toContain(told)
  expect(said?.text).toContain('did count')
  expect(said?.text).not.toContain(read)
  expect(await tell('used')).toBeNull()
})
