import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { flowOf, replayed, setupOf } from '../../../test/kits/replay.ts'
import { valueOf, world, type World } from '../../../test/kits/world.ts'
import type { ScriptedFunction } from '../../adapters/scripted/run-function.ts'
import { sqliteStore, type SqliteStore } from '../../store/sqlite.ts'
import { viewsEqual } from '../../store/rebuild.ts'
import type { Event } from '../../model/event.ts'
import { isRefusal } from '../../model/refusal.ts'
import { longestStall } from '../../../test/kits/linear.ts'
import { nextRound } from '../kernel/next-round.ts'
import { exportLog, exportText, importLog, readExport, type ExportHeader } from './export-log.ts'

async function exported(w: World, id: string | null, env: Record<string, string> = {}) {
  const request = { id, version: '1.2.3', env, setup: setupOf(w) }
  const file = await exportLog(w.store, w.store.transactions(), request)
  assert(!isRefusal(file))
  return { header: file.header, text: exportText(file) }
}

async function imported(text: string, store?: SqliteStore): Promise<SqliteStore> {
  let at = 0
  const target = store ?? sqliteStore({ directory: ':memory:', now: () => at })
  await importLog(readExport(text), {
    transact: (keys, work) => target.transact(keys, work),
    lastSeq: () => target.lastSeq(),
    at: (moment) => (at = moment),
  })
  return target
}

/**
 * A conversation that is passed on, a session that is called twice from different flows, and a flow in
 * between that has nothing to do with it.
 */
async function conversations(secret = 'nothing'): Promise<World> {
  const a: ScriptedFunction = async (turn) => {
    if (turn.task !== 'go') return `noted: ${turn.task}`
    const { output } = valueOf(
      await turn.tool('sub_agent', {
        agent_name: 'b',
        task: 'use what was said',
        context: { last_messages: 10, include_summary: true },
      }),
    ) as { output: string }
    const kept = valueOf(
      await turn.tool('call_agent', { agent_id: 'keeper', message: `remember: ${output}` }),
    )
    return turn.think(`${output} ${JSON.stringify(kept['response'])}`)
  }
  const w = await world({
    agents: {
      a: { script: a },
      b: {
        script: async (turn) =>
          turn.think(`I was shown ${turn.history.map((entry) => entry.text).join(' | ')}`),
      },
      keeper: { script: (turn) => `${turn.history.length} before, now ${turn.task}` },
      other: { script: () => 'unrelated words' },
    },
  })
  const { session } = await w.run('a', `the word is ${secret}`)
  await w.run('other', 'something else')
  await w.run('a', 'go', { session: session as `ses_${string}` })
  await w.run('a', 'go', { session: session as `ses_${string}` })
  return w
}

test('a flow is exported with the conversations that it was shown, and replays with the same hash', async () => {
  const w = await conversations()
  const flow = await flowOf(w)
  const here = await replayed(w, flow)
  expect(here).toMatchObject({ equal: true, difference: null })
  const { header, text } = await exported(w, flow)
  expect(text).not.toContain('unrelated words')
  const created = (await w.events('session.created')).map(({ event }) => event)
  for (const { session, agent } of created) expect(text.includes(session)).toBe(agent !== 'other')
  expect(header).toMatchObject({
    tieline: 'log',
    format: 2,
    version: '1.2.3',
    of: flow,
    turns: 3,
    contextTurns: 3,
    redacted: 0,
    events: text.trimEnd().split('\n').length - 1,
  })
  const store = await imported(text)
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
  const there = await replayed(w, flow, store)
  expect(there).toMatchObject({ equal: true, difference: null, hash: here.hash, events: here.events })
})

test('a call alone is complete too: the conversation of its caller that it was shown comes with it', async () => {
  const w = await conversations()
  const call =
    (await w.events('call.opened')).findLast(({ event }) => event.grant.agent === 'b')?.event.call ?? ''
  const here = await replayed(w, call)
  const there = await replayed(w, call, await imported((await exported(w, call)).text))
  expect(there).toMatchObject({ equal: true, kind: 'call', hash: here.hash, turns: [{ agent: 'b' }] })
})

test('the whole log comes back as it was: the same events at the same times, folded to the same views', async () => {
  const w = await conversations()
  const store = await imported((await exported(w, null)).text)
  expect((await store.read(0, {}, 10_000)).events).toEqual((await w.store.read(0, {}, 10_000)).events)
  expect(viewsEqual(store.db).equal).toBe(true)
})

test('secrets are gone, the same one has the same mark everywhere, and what is left replays', async () => {
  const secret = 'hunter2-of-the-environment'
  const w = await conversations(secret)
  const flow = await flowOf(w)
  const { header, text } = await exported(w, flow, { MY_API_KEY: secret, HOME: 'was shown' })
  expect(text).not.toContain(secret)
  expect(text).toContain('was shown')
  expect(header.redacted).toBe(1)
  const there = await replayed(w, flow, await imported(text))
  expect(there).toMatchObject({ equal: true, difference: null })
  expect((await replayed(w, flow, await imported(text))).hash).toBe(there.hash)
})

test('a damaged, changed or newer file is refused before anything is written, and so is a full log', async () => {
  const w = await conversations()
  const { text } = await exported(w, await flowOf(w))
  const [first = '', ...rest] = text.trimEnd().split('\n')
  const header = JSON.parse(first) as ExportHeader
  const withHeader = (more: object, lines = rest): string =>
    [JSON.stringify({ ...header, ...more }), ...lines].join('\n')
  expect(() => readExport(withHeader({}, rest.slice(1)))).toThrow(
    /damaged: it should have \d+ events and has \d+/,
  )
  expect(() =>
    readExport(
      withHeader(
        {},
        rest.map((line) => line.replace('go', 'no')),
      ),
    ),
  ).toThrow('its hash is not that of its events')
  expect(() => readExport(withHeader({ format: 3, version: '9.0.0' }))).toThrow(
    'written by a newer Tieline (9.0.0; its format is 3, this one knows 2)',
  )
  const setup = { ...header.setup, subagent: 'other' }
  expect(() => readExport(withHeader({ setup }))).toThrow('its hash is not that of its events')
  const { setup: _setup, ...older } = header
  const hash = createHash('sha256').update(rest.join('\n')).digest('hex')
  const first1 = JSON.stringify({ ...older, format: 1, hash })
  expect(readExport([first1, ...rest].join('\n')).header.setup).toBeUndefined()
  expect(() => readExport(withHeader({ events: undefined }))).toThrow('its header is not complete (events)')
  expect(() => readExport('hello\n')).toThrow('no export of a Tieline log')
  expect(() => readExport('')).toThrow('no export of a Tieline log')
  await expect(imported(text, w.store)).rejects.toThrow('is not empty')
})

test('an event that this version does not know is refused with its line', async () => {
  const { createHash } = await import('node:crypto')
  const line = JSON.stringify({ tx: 1, at: 1, event: { type: 'night.fell', session: 'ses_1', turn: null } })
  const header = {
    tieline: 'log',
    format: 1,
    version: '1',
    of: null,
    events: 1,
    turns: 0,
    contextTurns: 0,
    redacted: 0,
    hash: createHash('sha256').update(line).digest('hex'),
  }
  expect(() => readExport(`${JSON.stringify(header)}\n${line}\n`)).toThrow(
    'line 2 is not an event that this Tieline knows',
  )
})

test('GET /api/export stalled everybody while it looked for secrets in texts of a megabyte', async () => {
  const text = '-sk-AKEY=xoxb-'.repeat(75_000)
  const key = `sk-${'a1'.repeat(12)}`
  const w = await world({ agents: { a: { script: () => text } } })
  // From before its shape was known.
  const secret = { type: 'notice.raised', session: 'ses_a', turn: null, about: 'x', text: `${key} ${text}` }
  await w.run('a', 'go')
  const request = { id: null, version: '1', env: {}, setup: setupOf(w), pause: nextRound }
  let lines: readonly string[] = []
  const stalls: number[] = []
  // A collection of garbage may fall into one of them, but not into all.
  for (let tries = 0; tries < 3; tries += 1)
    stalls.push(
      await longestStall(async () => {
        const old = { at: 0, events: [{ seq: 1, at: 0, event: secret as Event }], units: text.length }
        const file = await exportLog(w.store, [old, ...w.store.transactions()], request)
        assert(!isRefusal(file))
        ;({ lines } = file)
      }),
    )
  expect(lines.map((line) => [line.includes('[redacted]'), line.includes(key)])[0]).toEqual([true, false])
  expect(lines.some((line) => line.includes(text.slice(0, 1_000_000)))).toBe(true)
  expect(Math.min(...stalls)).toBeLessThan(50)
})

test('R11: an export that is too long was made as a whole before it was refused', async () => {
  const w = await world({ agents: { a: { script: () => 'word '.repeat(1000) } } })
  for (let n = 0; n < 20; n += 1) await w.run('a', 'go')
  const whole = Buffer.byteLength((await exported(w, null)).text)
  let read = 0
  function* watched() {
    for (const row of w.store.transactions()) {
      read += row.units
      yield row
    }
  }
  const request = { id: null, version: '1', env: {}, setup: setupOf(w) }
  const answer = await exportLog(w.store, watched(), { ...request, bytesMax: 20_000 })
  expect(answer).toMatchObject({ code: 'too_large', bytesMax: 20_000 })
  expect(whole).toBeGreaterThan(100_000)
  expect(read).toBeLessThan(40_000)
  expect(await exportLog(w.store, watched(), { ...request, bytesMax: whole })).toHaveProperty('header')
})
