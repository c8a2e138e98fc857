/** Sessions that agents make: whose they are, where they work, and how they end. */
import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { SessionId } from '../../model/id.ts'
import { limitsDefault } from '../../model/limits.ts'
import { world } from '../../../test/kits/world.ts'
import type { ScriptedTurn } from '../../adapters/scripted/run-function.ts'
import { isRefusal } from '../../model/refusal.ts'
import { user, place, letter, session, resting } from '../../../test/kits/letters.ts'

/** A session of `coder` with a first message; the answer of the tool as text. */
async function spawnCoder(turn: ScriptedTurn, initialMessage: string): Promise<string> {
  const spawned = await turn.tool('create_agent_session', { cwd: tmpdir(), initialMessage, agent: 'coder' })
  return JSON.stringify(spawned.value)
}

test('a spawned session belongs to its maker, answers it without depth, and fails with a notice to it', async () => {
  const w = await world({
    agents: {
      planner: {
        script: async (turn) => {
          if (turn.task !== 'spawn' && turn.task !== 'spawn badly') return `heard ${turn.task}`
          const made = await turn.tool('create_agent_session', {
            cwd: tmpdir(),
            initialMessage: turn.task === 'spawn' ? 'work, then tell me' : 'fail',
            agent: 'coder',
          })
          return JSON.stringify(made.value)
        },
      },
      coder: {
        mayCall: [],
        script: async (turn) => {
          if (turn.task === 'fail') throw new Error('broke')
          return JSON.stringify(
            (await turn.tool('send_agent_message', { sessionId: parent, message: 'done' })).value,
          )
        },
      },
    },
  })
  const parent = await session(w, 'planner', 'spawn')
  await resting(w, parent)
  const child = (
    JSON.parse(
      (await w.events('turn.ended')).find(({ event }) => event.session === parent)?.event.output ?? '{}',
    ) as { sessionId: SessionId }
  ).sessionId
  await resting(w, child)
  await resting(w, parent)
  expect(await w.exchange.sessionView(child)).toMatchObject({ parent, agent: 'coder', status: 'idle' })
  expect((await w.events('message.sent')).map(({ event }) => [event.session, event.grant.depth])).toEqual([
    [parent, 0],
    [child, 1],
    [parent, 1],
  ])
  await w.exchange.send(user, letter(parent, 'spawn badly'))
  await resting(w, parent)
  await w.rest()
  const notices = (await w.events('notice.raised')).map(({ event }) => event)
  expect(notices).toMatchObject([{ session: parent, text: expect.stringContaining('failed') as string }])
})

test('deleting a session cancels and archives its children; an idle one is brought back by a message', async () => {
  const w = await world({
    agents: {
      planner: {
        script: (turn) => (turn.task === 'go' ? spawnCoder(turn, 'hang') : 'ok'),
      },
      coder: {
        script: async (turn) => {
          if (turn.task === 'hang') await w.clock.sleep(1e8, turn.signal)
          return 'ok'
        },
      },
    },
  })
  const parent = await session(w, 'planner', 'go')
  await resting(w, parent)
  const [child] = (
    await w.exchange.sessions({
      dir: null,
      active: true,
      agent: null,
      parent,
      archived: false,
      cursor: null,
      limit: 10,
    })
  ).sessions
  expect(await w.exchange.archive(parent)).toEqual({ archived: [parent, child?.id] })
  await w.rest()
  expect((await w.events('turn.ended')).at(-1)?.event).toMatchObject({
    session: child?.id,
    outcome: 'cancelled',
  })
  expect(await w.exchange.send(user, letter(parent, 'hello?'))).toEqual({
    code: 'session_unknown',
    session: parent,
  })
  expect(
    (
      await w.exchange.sessions({
        dir: null,
        active: null,
        agent: null,
        parent: null,
        archived: false,
        cursor: null,
        limit: 10,
      })
    ).sessions,
  ).toEqual([])
})

test('a spawned session without use is put away after 24 hours, not before; a message brings it back', async () => {
  const { archiveIdle } = await import('./sessions.ts')
  const w = await world({
    agents: {
      planner: {
        script: (turn) => (turn.task === 'spawn' ? spawnCoder(turn, 'x') : 'ok'),
      },
      coder: {},
    },
    limits: { archiveAfterHours: 0.1 },
  })
  const root = await session(w, 'planner', 'spawn')
  await resting(w, root)
  const [child] = (
    await w.exchange.sessions({
      dir: null,
      active: null,
      agent: 'coder',
      parent: null,
      archived: false,
      cursor: null,
      limit: 10,
    })
  ).sessions
  expect(limitsDefault.archiveAfterHours).toBe(24)
  await w.pass(5 * 60_000)
  expect(await archiveIdle(w.node.runtime, w.store.lists)).toBe(0)
  await w.pass(2 * 60_000)
  expect(await archiveIdle(w.node.runtime, w.store.lists)).toBe(1)
  expect(await w.exchange.sessionView(child?.id as SessionId)).toMatchObject({ archived: true })
  expect(await w.exchange.sessionView(root)).toMatchObject({ archived: false })
  await w.exchange.send(user, letter(child?.id as SessionId, 'again'))
  expect(await w.exchange.sessionView(child?.id as SessionId)).toMatchObject({ archived: false })
})

test("a spawned session works in any directory that is named, relative to its maker's", async () => {
  const w = await world({
    agents: {
      planner: {
        script: async (turn) =>
          JSON.stringify([
            (await turn.tool('create_agent_session', { cwd: turn.task, agent: 'coder' })).value,
          ]),
      },
      coder: {},
    },
  })
  const [top, below] = [mkdtempSync(join(tmpdir(), 'tieline-spawn-')), 'deeper']
  mkdirSync(join(top, below))
  for (const [given, is] of [
    [below, join(top, below)],
    ['.', top],
    ['/', '/'],
  ] as const)
    expect(JSON.parse((await w.run('planner', given, { cwd: top })).output)).toMatchObject([
      { cwd: is, error: null },
    ])
  expect(JSON.parse((await w.run('planner', 'src', { cwd: top })).output)).toMatchObject([
    { error: { code: 'bad_input', message: expect.stringContaining('a directory that exists') as string } },
  ])
  expect(JSON.parse((await w.run('planner', '/proc/self', { cwd: top })).output)).toMatchObject([
    {
      error: {
        code: 'bad_input',
        message: expect.stringContaining('outside /proc, /sys and /dev') as string,
      },
    },
  ])
})

test('an orphan is listed as one and can be adopted, but not by its own child', async () => {
  const w = await world({ agents: { coder: {} } })
  const old = await session(w, 'coder')
  const made = await w.exchange.createSession(user, {
    ...place,
    agent: 'coder',
    initialMessage: null,
    parent: old,
  })
  const child = isRefusal(made) ? ('ses_none' as const) : made.sessionId
  await w.store.transact([`session:${old}`], async (tx) =>
    tx.append({ type: 'session.archived', session: old, turn: null, cause: 'idle' }),
  )
  expect(await w.exchange.sessionView(child)).toMatchObject({ orphan: true })
  const next = await session(w, 'coder')
  expect(await w.exchange.adopt(child, next)).toMatchObject({ parent: next, orphan: false })
  expect(await w.exchange.adopt(next, child)).toMatchObject({ code: 'bad_input', field: 'parent' })
  expect(await w.exchange.adopt(child, 'ses_none')).toMatchObject({ code: 'session_unknown' })
})
