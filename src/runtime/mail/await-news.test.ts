/** Waiting in place of an open program: what ends the wait, who takes whose place, and what is left of it. */
import { expect, test } from 'vitest'
import { mailWorld, user } from '../../../test/kits/mail.ts'
import { awaitNews, type News } from './await-news.ts'
import { closeClient, hear, openClient, setState } from './presence.ts'
import { untilMail } from './until-mail.ts'

async function opened() {
  const w = await mailWorld()
  const { runtime } = w.node
  runtime.wake = { default: 'wake', replies: 'wake', perHour: 6, codex: false, senders: {} }
  const client = await w.open('external')
  const present = await openClient(runtime, client, 'some program')
  const never = new AbortController()
  const wait = (ms: number, { busy = false, signal = never.signal } = {}): Promise<News> =>
    awaitNews(runtime, { session: client, inbox: null }, present, { ms, busy, signal })
  const write = (message: string) =>
    w.ok(w.exchange.mail.send(user, { session: client, message }, null, null))
  return { w, runtime, client, present, wait, write }
}

test('who waits is told when something comes, counts as working from then on, and listens no more', async () => {
  const { w, present, wait, write } = await opened()
  const waiting = wait(60_000)
  await w.rest()
  expect([present.waiter !== null, present.leftAt]).toEqual([true, null])
  await write('hello')
  const at = w.clock.elapsed()
  expect(await w.until(waiting)).toMatchObject({ status: 'told', woken: true })
  expect(w.clock.elapsed() - at).toBeLessThan(500)
  expect([present.state, present.waiter, present.onChange.size]).toEqual(['working', null, 0])
  expect(present.leftAt).toBe(w.clock.elapsed())
})

test('a wait ends with its time, and with the signal of who waits', async () => {
  const { w, present, wait } = await opened()
  const at = w.clock.elapsed()
  expect(await w.until(wait(5000))).toMatchObject({ status: 'nothing', text: '' })
  expect(w.clock.elapsed() - at).toBe(5000)
  const gone = new AbortController()
  const waiting = wait(600_000, { signal: gone.signal })
  await w.rest()
  gone.abort()
  expect(await w.until(waiting)).toMatchObject({ status: 'nothing' })
  expect(w.clock.elapsed() - at).toBeLessThan(6000)
  expect(present.onChange.size).toBe(0)
})

test('the next who waits takes the place of the one before, which is told so', async () => {
  const { w, present, wait, write } = await opened()
  const first = wait(60_000)
  await w.rest()
  const second = wait(60_000)
  expect(await w.until(first)).toMatchObject({ status: 'replaced' })
  expect(present.waiter).not.toBeNull()
  await write('hello')
  expect(await w.until(second)).toMatchObject({ status: 'told' })
})

test('a program that works is told with a tool result only, or when it rests', async () => {
  const { w, runtime, present, wait, write } = await opened()
  hear(runtime, present, 'prompted', false)
  expect(present.state).toBe('working')
  await write('hello')
  let news: News | null = null
  const waiting = wait(60_000)
  void waiting.then((said) => (news = said))
  await w.pass(10_000)
  expect(news).toBeNull()
  const at = w.clock.elapsed()
  hear(runtime, present, 'resting', false)
  expect(await w.until(waiting)).toMatchObject({ status: 'told', woken: true })
  expect(w.clock.elapsed()).toBe(at)
  await write('again')
  expect(await w.until(wait(60_000, { busy: true }))).toMatchObject({ status: 'told', woken: false })
})

test('a program that would rest and was made to go on is working', async () => {
  const { runtime, present } = await opened()
  const heard = (moment: Parameters<typeof hear>[2], goesOn: boolean) => {
    setState(present, moment === 'used' || goesOn ? 'idle' : 'working')
    hear(runtime, present, moment, goesOn)
    return present.state
  }
  expect([heard('resting', false), heard('started', false)]).toEqual(['idle', 'idle'])
  expect([heard('resting', true), heard('used', false)]).toEqual(['working', 'working'])
})

test('that a program was opened or closed is recorded once, and a closed one waits no longer', async () => {
  const { w, runtime, client, present, wait } = await opened()
  expect(await openClient(runtime, client, 'some program')).toBe(present)
  runtime.presence.delete(client)
  const again = await openClient(runtime, client, 'some program')
  expect((await w.events('session.opened')).map(({ event }) => event.program)).toEqual(['some program'])
  expect(again.state).toBe('idle')
  runtime.presence.set(client, present)
  const waiting = wait(600_000)
  await w.rest()
  await closeClient(runtime, client, 'it said so')
  await closeClient(runtime, client, 'it said so again')
  expect(await w.until(waiting)).toMatchObject({ status: 'replaced' })
  expect((await w.events('session.closed')).map(({ event }) => event.cause)).toEqual(['it said so'])
  expect(runtime.presence.has(client)).toBe(false)
})

test('a wait for mail ends when some comes or is there, and not with that of others', async () => {
  const { w, runtime, client, write } = await opened()
  const [coder, other] = [await w.open('coder'), await w.open('external')]
  const { signal } = new AbortController()
  const begunAt = w.clock.elapsed()
  let over = 0
  const waits = [client, coder].map((session) =>
    untilMail(runtime, [session, null], 20_000, signal).then(() => (over += 1)),
  )
  await w.rest()
  await w.ok(w.exchange.mail.send(user, { session: other, message: 'not yours' }, null, null))
  await w.exchange.send(user, { ...plain, to: coder, text: 'a turn' })
  await w.pass(3000)
  expect(over).toBe(0)
  await write('yours')
  await w.rest()
  expect(over).toBe(1)
  await w.until(Promise.all(waits))
  expect(w.clock.elapsed() - begunAt).toBe(20_000)
  const at = w.clock.elapsed()
  await w.until(untilMail(runtime, [client], 20_000, signal))
  expect(w.clock.elapsed()).toBe(at)
})

const plain = {
  source: 'user' as const,
  from: null,
  applet: null,
  delivery: 'auto' as const,
  inReplyTo: null,
  id: null,
  trace: null,
}
