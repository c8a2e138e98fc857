/** What agents write with secrets in it is recorded with marks, and nothing else changes. */
import { expect, test } from 'vitest'
import { sent } from '../../../test/kits/store.ts'
import { type World } from '../../../test/kits/world.ts'
import type { Json } from '../../model/json.ts'
import { viewsEqual } from '../../store/rebuild.ts'
import { sqliteStore, type SqliteStore } from '../../store/sqlite.ts'
import { secretGuard } from './secret-guard.ts'
import { send } from '../mail/send.ts'
import {
  shaped,
  ofVariable,
  named,
  env,
  made,
  guardedWorld,
  leaky,
} from '../../../test/kits/guarded-world.ts'

test('a secret in a task, an answer or an output reaches neither the database nor its write-ahead log', async () => {
  let live: Json = null
  const w = await guardedWorld(
    {
      planner: {
        script: async (turn) => {
          live = (await turn.tool('leaky', {})).value
          await turn.think(`I have read ${shaped}`)
          await turn.tool('sub_agent', {
            agent_name: 'coder',
            task: `use ${shaped} and ${ofVariable}`,
            input: { password: named },
          })
          return `the key is ${ofVariable}`
        },
      },
      coder: {
        script: async (turn) => {
          await turn.think(turn.prompt)
          return `did it with ${shaped}`
        },
      },
    },
    [leaky],
  )
  const { output, success } = await w.run('planner', `my key is ${ofVariable}, and ${shaped}`)
  expect(success).toBe(true)
  const bytes = w.bytes()
  expect(bytes.length).toBeGreaterThan(10_000)
  for (const secret of [shaped, ofVariable, named]) expect(bytes.includes(secret)).toBe(false)
  expect(bytes).toMatch(/\[redacted\]/)
  // The test would notice: without the guard they are there.
  expect(bytes).toContain('my key is ')
  // What runs still works with the real thing; who is told about it is not told the secret.
  expect(JSON.stringify(live)).toContain(shaped)
  expect(output).toMatch(/^the key is \[redacted\]$/)
  await w.store.close()
  expect(w.bytes()).not.toContain(ofVariable)
})

test('a message that is sent again with its id is the same message, although its secret is not on record', async () => {
  const w = await guardedWorld({ a: { script: () => 'ok' } })
  const { session } = await w.run('a', 'hello')
  const again = (text: string) =>
    w.until(send(w.node.runtime, { to: { session: session as `ses_${string}` }, text, id: 'mine-1' }))
  const first = await again(`use ${shaped}`)
  await w.pass(100)
  expect(await again(`use ${shaped}`)).toMatchObject({ message: (first as { message: string }).message })
  expect(await again('something else entirely')).toMatchObject({ code: 'message_already_sent' })
})

const peersText = (session: string): string =>
  `it is ${session}; the build is a1b2c3d4e5f6g7h8, ask tom at hunter2hunter2`

test('what one agent calls a password changes nothing that others wrote, also after a restart', async () => {
  const heard: string[] = []
  const w = await guardedWorld({
    b: {
      script: (turn) => {
        heard.push(turn.prompt)
        return `heard: ${turn.task}`
      },
    },
    a: { script: (turn) => turn.task },
  })
  const { session } = await w.run('b', 'hello')
  const text = peersText(session ?? '')
  const lookAlikes = [
    { password: session, token: 'a1b2c3d4e5f6g7h8', secret: named },
    `password: "${session}" token: "a1b2c3d4e5f6g7h8"`,
    `DB_PASSWORD=${named} API_KEY=a1b2c3d4e5f6g7h8 SESSION_TOKEN=${session}`,
    `{"secret":"${named}","password":"${session}","apiKey":"a1b2c3d4e5f6g7h8"}`,
    `x://me:${named}@host Bearer a1b2c3d4e5f6g7h8`,
  ].map((one) => (typeof one === 'string' ? one : JSON.stringify(one)))
  for (const one of lookAlikes) await w.run('a', one)
  const sentTo = (of: World) =>
    of
      .events('message.sent')
      .then((all) => all.filter(({ event }) => event.session === session).map(({ event }) => event.text))
  await w.run('b', text, { session: session as `ses_${string}` })
  expect(await sentTo(w)).toEqual(['hello', text])
  expect(heard.at(-1)).toContain(text)
  const rows = (store: SqliteStore): unknown[] => store.db.prepare('select * from log order by 1').all()
  const before = JSON.stringify(rows(w.store))
  expect(before).toContain('[redacted]')
  await w.store.close()
  const guard = secretGuard({ env })
  const again = sqliteStore({
    directory: made.at(-1) ?? '',
    now: () => w.clock.now(),
    cleaner: guard,
  })
  expect(JSON.stringify(rows(again))).toBe(before)
  expect(viewsEqual(again.db)).toEqual({ equal: true, difference: null })
  // The same text is written as the same bytes by a server that has seen nothing else.
  expect(guard.clean([sent('ses_b', 'turn_b', { text })])).toBeNull()
  await again.close()
})
