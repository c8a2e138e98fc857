/** As whom a session may act at the desk: as itself, while it is there, and towards others. */
import { expect, test } from 'vitest'
import { world } from '../../../test/kits/world.ts'
import type { SessionId } from '../../model/id.ts'

async function scene() {
  const w = await world({ agents: { a: {}, b: {} } })
  const open = async (agent: string) => (await w.run(agent, 'hello')).session as SessionId
  const as = (session: SessionId) => w.desks.as({ who: { kind: 'session', session } })
  return { w, as, own: await open('a'), other: await open('b') }
}

test('a session that was deleted acts no more: it is unknown', async () => {
  const { w, as, own, other } = await scene()
  await w.desks.as({}).sessions.archive(own)
  const sent = await as(own).sessions.send(other, { message: 'still here', delivery: 'auto' })
  expect(sent).toMatchObject({ code: 'session_unknown', session: own })
})

test('a session does not write to itself', async () => {
  const { as, own } = await scene()
  expect(await as(own).sessions.send(own, { message: 'me', delivery: 'auto' })).toEqual({
    code: 'self_call',
    agent: 'a',
  })
})

test('a session does not speak as the user or as an applet', async () => {
  const { as, own, other } = await scene()
  for (const source of ['user', 'applet'] as const)
    expect(
      await as(own).sessions.send(other, {
        message: 'I am the user',
        source,
        delivery: 'auto',
        ...(source === 'applet' && { applet: 'clock' }),
      }),
    ).toMatchObject({ code: 'not_allowed', what: `send as source "${source}"` })
})
