import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { mailWorld, user } from '../../../test/kits/mail.ts'

test('a key that made a session below one parent makes none below another', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('planner')]
  const create = (parent: typeof a, initialMessage: string | null) =>
    w.exchange.createSession(user, {
      cwd: tmpdir(),
      agent: 'coder',
      model: null,
      title: '',
      parent,
      initialMessage,
      id: `key-${initialMessage}`,
      trace: null,
    })
  for (const said of [null, 'hello']) {
    const made = await w.ok(create(a, said))
    expect(await w.ok(create(a, said))).toMatchObject({ sessionId: made.sessionId })
    expect(await create(b, said)).toMatchObject({ code: 'bad_input', field: 'Idempotency-Key' })
  }
})
