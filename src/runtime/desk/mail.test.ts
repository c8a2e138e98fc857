import { expect, test } from 'vitest'
import { append, sent } from '../../../test/kits/store.ts'
import { world } from '../../../test/kits/world.ts'
import type { SessionId } from '../../model/id.ts'

test('the inbox of a session read its whole timeline for what the session was told', async () => {
  const w = await world({ agents: { a: { script: () => 'done' } } })
  const session = (await w.run('a', 'go')).session as SessionId
  await append(w.store, { type: 'notice.raised', session, turn: null, about: 'ses_x', text: 'it failed' })
  for (let n = 0; n < 5; n += 1) await append(w.store, sent(session, `turn_${n}`))
  const asked: unknown[] = []
  const read = w.store.read.bind(w.store)
  w.store.read = (...ask) => {
    asked.push(ask)
    return read(...ask)
  }
  const { mail } = w.desks.as({ client: { name: 'program', cwd: process.cwd() } })
  expect(await mail.inbox(session)).toMatchObject({
    notices: [{ about: 'ses_x', text: 'it failed', seq: expect.any(String) as string }],
  })
  expect(asked).toEqual([])
})
