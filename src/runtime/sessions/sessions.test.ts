/** The life of sessions: what is made, cancelled, deleted, put away, adopted and renamed, and what is not. */
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { ask, client, use } from '../../../test/kits/mortal.ts'
import { letter, resting, session, user } from '../../../test/kits/letters.ts'
import { valueOf, world, type World } from '../../../test/kits/world.ts'
import type { SessionId } from '../../model/id.ts'
import { archiveIdle, archiveSession, createSession, renameSession } from './sessions.ts'

/** Three inputs for one session: the first runs, the others are queued. */
async function busySession(): Promise<{ w: World; id: SessionId; ends: () => Promise<unknown> }> {
  const w: World = await world({
    agents: {
      slow: { script: async (turn) => (await w.clock.sleep(1000, turn.signal), `did ${turn.task}`) },
    },
  })
  const id = await session(w, 'slow', 'a')
  for (const text of ['b', 'c']) await w.exchange.send(user, letter(id, text))
  const ends = async (): Promise<unknown> => {
    await resting(w, id)
    const asked = (await w.events('message.sent')).map(({ event }) => event)
    return Object.fromEntries(
      (await w.events('turn.ended')).map(({ event }) => [
        asked.find(({ turn }) => turn === event.turn)?.text,
        event.outcome,
      ]),
    )
  }
  return { w, id, ends }
}

test('a cancel ends what runs, and what is queued goes on', async () => {
  const { w, id, ends } = await busySession()
  expect(await w.until(w.exchange.cancel(id, false, ''))).toEqual({ cancelled: 1 })
  expect(await ends()).toEqual({ a: 'cancelled', b: 'completed', c: 'completed' })
})

test('a cancel of one turn ends that one and no other', async () => {
  const { w, id, ends } = await busySession()
  const queued = (await w.events('message.sent')).find(({ event }) => event.text === 'b')?.event.turn ?? null
  expect(await w.until(w.exchange.cancel(id, false, '', queued))).toEqual({ cancelled: 1 })
  expect(await ends()).toEqual({ a: 'completed', b: 'cancelled', c: 'completed' })
})

test('a cancel of all ends what runs and what is queued, and none of it begins', async () => {
  const { w, id, ends } = await busySession()
  expect(await w.until(w.exchange.cancel(id, true, ''))).toEqual({ cancelled: 3 })
  expect(await ends()).toEqual({ a: 'cancelled', b: 'cancelled', c: 'cancelled' })
  expect(await w.events('turn.started')).toHaveLength(1)
})

test('the main session of an agent is only put away; one that a call made is not there to delete', async () => {
  const w = await world({
    agents: {
      boss: {
        script: async (turn) => {
          await turn.tool('call_agent', { agent_id: 'coder', message: 'main' })
          await turn.tool('sub_agent', { agent_name: 'coder', task: 'once' })
          return 'ok'
        },
      },
      coder: {},
    },
  })
  await w.run('boss', 'go')
  const [main, once] = (await w.events('call.opened')).map(({ event }) => event.target)
  if (main === undefined || once === undefined) throw new Error('nothing was called')
  expect(await archiveSession(w.node.runtime, main)).toEqual([main])
  expect((await w.events('session.archived')).map(({ event }) => event.cause)).toEqual(['idle'])
  expect(await w.exchange.send(user, letter(main, 'again'))).toMatchObject({ status: 'dispatched' })
  expect(await archiveSession(w.node.runtime, once)).toEqual({ code: 'session_unknown', session: once })
})

test('a session that was put away is there again when somebody adopts it', async () => {
  const w = await world({ agents: { a: {} } })
  const [top, low] = [await session(w, 'a'), await session(w, 'a')]
  const putAway = () =>
    w.store.transact([`session:${low}`], async (tx) =>
      tx.append({ type: 'session.archived', session: low, turn: null, cause: 'idle' }),
    )
  await putAway()
  expect(await w.exchange.sessionView(low)).toMatchObject({ archived: true })
  expect(await w.exchange.adopt(low, top)).toMatchObject({ parent: top, archived: false })
})

test('R1: what got work or mail since somebody looked is not put away', async () => {
  const w: World = await world({
    agents: { slow: { script: async (turn) => (await w.clock.sleep(1000, turn.signal), 'ok') } },
  })
  const [works, queues, mailed, rests] = [
    await session(w, 'slow', 'work'),
    await session(w, 'slow'),
    await session(w, 'slow'),
    await session(w, 'slow'),
  ]
  await w.exchange.mail.send(user, { session: mailed, message: 'later' }, null, null)
  w.node.runtime.drain.isOn = true
  await w.exchange.send(user, letter(queues, 'wait'))
  w.node.runtime.drain.isOn = false
  const seen = { ...w.store.lists, restingSince: async () => [works, queues, mailed, rests] }
  await archiveIdle(w.node.runtime, seen)
  expect((await w.events('session.archived')).map(({ event }) => event.session)).toEqual([rests])
})

test('an id gives the session that has it, and no other; unknown agents have no session', async () => {
  const w = await world({ agents: { a: {}, b: {} } })
  const make = (agent: string, id: string | null, cwd = tmpdir()) =>
    createSession(w.node.runtime, { agent, cwd }, { kind: 'user' }, id)
  expect(await make('a', 'same')).toMatchObject({ id: 'ses_same', agent: 'a' })
  expect(await make('a', 'same')).toMatchObject({ id: 'ses_same', agent: 'a' })
  expect(await make('b', 'same')).toMatchObject({ code: 'bad_input', field: 'id' })
  expect(await make('a', 'same', '/')).toMatchObject({ code: 'bad_input', field: 'id' })
  expect(await make('nobody', null)).toMatchObject({ code: 'agent_unknown', agent: 'nobody' })
  expect(await w.events('session.created')).toHaveLength(1)
})

test('a turn opens sessions of agents that it may call only, and they are of its flow', async () => {
  const make = (agent: string) => ({ cwd: tmpdir(), agent })
  const w = await world({
    agents: {
      boss: {
        mayCall: ['coder'],
        script: async (turn) =>
          JSON.stringify(
            await Promise.all(
              ['coder', 'other'].map(async (agent) =>
                valueOf(await turn.tool('create_agent_session', make(agent))),
              ),
            ),
          ),
      },
      coder: {},
      other: {},
    },
  })
  const { output, flow } = await w.run('boss', 'go')
  expect(JSON.parse(output)).toMatchObject([
    { agent: 'coder', error: null },
    { error: { code: 'not_allowed' } },
  ])
  const made = (await w.events('session.created')).map(({ event }) => event)
  expect(made.filter(({ agent }) => agent !== 'boss')).toMatchObject([{ agent: 'coder', flow }])
})

test('R1: a session that was deleted meanwhile is not renamed', async () => {
  const w = await world({ agents: { a: {} } })
  const id = await session(w, 'a')
  expect(await renameSession(w.node.runtime, id, 'new')).toBeNull()
  await w.exchange.archive(id)
  expect(await renameSession(w.node.runtime, id, 'newer')).toEqual({ code: 'session_unknown', session: id })
  expect((await w.events('session.renamed')).map(({ event }) => event.title)).toEqual(['new'])
})

/** More than a queue can hold: a client's session has a turn for each of its calls. */
test('a cancel ends every call that a client has in flight, and one of them by its id', async () => {
  const count = 130
  const w = await world({
    limits: { callsPerMinute: 1000, callsPerCallerMax: 1000 },
    agents: { coder: { script: async (turn) => (await w.clock.sleep(20_000, turn.signal), 'done') } },
  })
  const calls = Array.from({ length: count }, async (_, n) =>
    w.exchange.useTool(await client(w), 'sub_agent', ask, use({ id: `k${n}` })),
  )
  await w.pass(100)
  const id = await w.exchange.clientSession('test', '/tmp')
  const last = (await w.store.turns({ session: id }, 1000)).at(-1)?.id ?? null
  expect(await w.until(w.exchange.cancel(id, false, '', last))).toEqual({ cancelled: 1 })
  expect(await w.until(w.exchange.cancel(id, true, ''))).toEqual({ cancelled: count - 1 })
  await w.until(Promise.all(calls))
  expect(await w.store.turns({ session: id }, 1000)).toEqual([])
})
