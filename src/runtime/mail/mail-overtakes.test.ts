import { expect, test } from 'vitest'
import { letter, mailWorld, user } from '../../../test/kits/mail.ts'

test('mail that is accepted does not overtake what waits in a session that rests', async () => {
  const receiver = { there: false }
  const w = await mailWorld({ isThere: () => receiver.there })
  const b = await w.open('coder')
  await w.ok(w.exchange.mail.send(user, { session: b, message: 'mail', id: 'm' }, null, null))
  await w.ok(w.exchange.send(user, letter(b, 'first')))
  receiver.there = true
  expect(await w.exchange.mail.accept(user, b, 'm', null)).toMatchObject({ message: { status: 'queued' } })
  await w.pass(5000)
  expect((await w.events('turn.ended')).map(({ event }) => event.entry?.asked)).toEqual([
    'first',
    expect.stringContaining('mail') as string,
  ])
})
