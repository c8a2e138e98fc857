/** Turns that mail opened, forks and expansions are replayed, exported and imported like any other. */
import assert from 'node:assert/strict'
import { expect, test } from 'vitest'
import { replayed, setupOf } from '../../../test/kits/replay.ts'
import { letter, mailWorld, user } from '../../../test/kits/mail.ts'
import type { ScriptedFunction } from '../../adapters/scripted/run-function.ts'
import type { SessionId } from '../../model/id.ts'
import { isRefusal } from '../../model/refusal.ts'
import { rebuild, viewsEqual } from '../../store/rebuild.ts'
import { sqliteStore } from '../../store/sqlite.ts'
import { exportLog, exportText, importLog, readExport } from '../look/export-log.ts'

async function night() {
  const script: ScriptedFunction = async (turn) => {
    await turn.think(
      `heard ${turn.history.length} before: ${turn.history.map((entry) => entry.text).join(' | ')}`,
    )
    if (turn.task === 'write') {
      await turn.tool('send-message', { session: b, message: 'look', id: 'first', elaborate: true })
      await turn.tool('send-message', { fork: 2, message: 'try again', id: 'forked' })
    }
    if (turn.task === 'read') {
      await turn.tool('buffer', {})
      await turn.tool('buffer', { accept: 'second' })
      await turn.tool('send-message', { message: 'read it', reply: ['second'] })
    }
    return `did ${turn.task.slice(0, 40)}`
  }
  const w = await mailWorld({ agents: { coder: { script, model: 'scripted/coder' } } })
  const a = await w.open('coder')
  const b: SessionId = await w.open('coder')
  const say = async (session: SessionId, text: string): Promise<void> => {
    await w.ok(w.exchange.send(user, letter(session, text)))
    await w.rested(session)
  }
  await say(a, 'one')
  await say(a, 'two')
  await say(a, 'write')
  await w.ok(w.exchange.mail.send(user, { session: b, message: 'for later', id: 'second' }, null, null))
  await w.ok(w.exchange.mail.accept(user, b, 'first', null))
  await w.rested(b)
  await say(b, 'read')
  const forked = (await w.ok(w.exchange.mail.message(user, 'forked'))).to as SessionId
  await w.rested(forked)
  expect(w.faults).toEqual([])
  return { w, a, b, forked }
}

test('R10: every turn with mail replays equal: accepting, taking, forking, expanding', async () => {
  const { w, a, b, forked } = await night()
  for (const id of [a, b, forked]) {
    const replay = await replayed(w, id)
    expect([id, replay.difference]).toEqual([id, null])
    expect(replay.turns.length).toBeGreaterThan(0)
  }
  const expanding =
    (await w.events('message.sent')).find(({ event }) => event.applet === 'elaborate')?.event.session ?? ''
  expect(await replayed(w, expanding)).toMatchObject({ equal: true, turns: [{ stop: null }] })
})

test('a fork is exported with what it shares, and replays from the file', async () => {
  const { w, forked } = await night()
  const file = await exportLog(w.store, w.store.transactions(), {
    id: forked,
    version: '0',
    env: {},
    setup: setupOf(w),
  })
  assert(!isRefusal(file))
  let at = 0
  const store = sqliteStore({ directory: ':memory:', now: () => at })
  await importLog(readExport(exportText(file)), {
    transact: (keys, work) => store.transact(keys, work),
    lastSeq: () => store.lastSeq(),
    at: (moment) => (at = moment),
  })
  expect((await store.entriesByNumber(forked, [1, 2, 3, 4])).map((entry) => entry.text)).toEqual([
    'one',
    'did one',
    'try again',
    'did try again',
  ])
  expect(await replayed(w, forked, store)).toMatchObject({ equal: true })
  rebuild(store.db)
  expect(viewsEqual(store.db)).toMatchObject({ equal: true })
  await store.close()
})
