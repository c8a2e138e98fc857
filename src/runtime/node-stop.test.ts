/** What a node that stops still does, which is as good as nothing, and what those learn who wait there. */
import { expect, test } from 'vitest'
import { letter, session, user } from '../../test/kits/letters.ts'
import { client } from '../../test/kits/mortal.ts'
import { virtualClock, world } from '../../test/kits/world.ts'
import { isRefusal } from '../model/refusal.ts'
import { sqliteStore, type SqliteStore } from '../store/sqlite.ts'
import { LineClosed } from './kernel/faults.ts'
import type { Store } from './kernel/store-port.ts'
import { nap, untilResting } from './look/state.ts'
import { untilMail } from './mail/until-mail.ts'
import type { Node } from './node.ts'
import { claimSession } from './turns/claim.ts'
import { waitAsClient } from './sessions/acts.ts'
import { turnEnding } from './turns/turn-ending.ts'

const signal = new AbortController().signal

/** Its agent counts how often it was begun, and does not end. */
async function counting(store?: SqliteStore) {
  const begun: string[] = []
  const run = (task: string): Promise<never> => (begun.push(task), new Promise(() => undefined))
  const w = await world({
    agents: {
      a: { driver: { run: ({ task }) => run(task) } },
      boss: {
        script: async (turn) => {
          await turn.tool('sub_agent', { agent_name: 'a', task: 'below', background: true })
          return run('boss')
        },
      },
    },
    ...(store === undefined ? {} : { store }),
  })
  return { w, begun }
}

/** Its store calls `then` when a transaction was made, before anybody knows of it. */
function storeWith(then: (keys: readonly string[]) => Promise<void>) {
  const clock = virtualClock()
  const store = sqliteStore({ directory: ':memory:', now: () => clock.now() })
  const open = new Set<object>()
  const transact: SqliteStore['transact'] = async (keys, work, urgent) => {
    const own = {}
    open.add(own)
    const result = await store.transact(keys, work, urgent)
    await then(keys)
    open.delete(own)
    return result
  }
  return { store: Object.assign(Object.create(store) as SqliteStore, { transact }), open }
}

/** From now on a node does not get what it reads with `name`, until the test lets it. */
function hold({ runtime }: Node, name: 'sessionFacts' | 'event') {
  const [asked, given] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const store = Object.create(runtime.store) as Record<typeof name, (id: never) => Promise<never>>
  const read = runtime.store[name].bind(runtime.store) as (id: never) => Promise<never>
  store[name] = async (id) => {
    const found = await read(id)
    asked.resolve()
    await given.promise
    return found
  }
  runtime.store = store as unknown as Store
  return { asked: asked.promise, give: given.resolve }
}

/** Gone without a word, as far as others see. */
function die({ runtime }: Node): void {
  runtime.stopping.abort(new Error('killed'))
  for (const running of runtime.running.values()) running.abort.abort(new Error('killed'))
}

const learns = (waiting: Promise<unknown>): Promise<unknown> =>
  waiting.then(
    () => 'nothing',
    (reason: unknown) => reason,
  )

test('who waits for a run, a session, mail or a call when the node stops learns that it does', async () => {
  const { w } = await counting()
  const { runtime } = w.node
  const id = await session(w, 'boss', 'go')
  await w.rest()
  const [{ event } = { event: { call: '' } }] = await w.events('call.opened')
  const run = w.ask('a', 'go')
  await run.accepted
  const waiting = [
    learns(run.then(String)),
    learns(untilResting(runtime, id, 600_000, signal)),
    learns(untilMail(runtime, [id], 600_000, signal)),
    learns(waitAsClient(runtime, id, event.call, 600_000, signal)),
  ]
  await w.rest()
  await w.node.stop()
  expect(await Promise.all(waiting)).toEqual(waiting.map(() => new LineClosed()))
  expect(runtime.atStop.size).toBe(0)
})

test('who begins to wait after the stop learns the same, and is not waited for', async () => {
  const { w, begun } = await counting()
  const { runtime } = w.node
  const sent = await w.ask('a', 'go').accepted
  if (isRefusal(sent)) throw new Error(sent.code)
  await w.node.stop()
  await nap(runtime, 600_000, signal)
  const waiting = [
    w.ask('a', 'late').accepted,
    w.ask('a', 'late').then(String),
    turnEnding(runtime, sent.turn),
    untilResting(runtime, sent.session, 600_000, signal),
    untilMail(runtime, [sent.session], 600_000, signal),
  ]
  expect(await Promise.all(waiting.map(learns))).toEqual(waiting.map(() => new LineClosed()))
  runtime.store.turn = () => Promise.reject(new Error('the database is not open'))
  expect(await learns(turnEnding(runtime, 'turn_1'))).toEqual(new LineClosed())
  expect([begun, (await w.events('message.sent')).length]).toEqual([['go'], 1])
})

test('a message that comes while the node stops waits in the queue for the next process', async () => {
  const { w, begun } = await counting()
  const id = await session(w, 'a')
  await w.node.stop()
  expect(await w.exchange.send(user, letter(id, 'late'))).toMatchObject({ status: 'queued' })
  await w.rest()
  w.node.runtime.store.sessionFacts = () => Promise.reject(new Error('it was looked at'))
  await claimSession(w.node.runtime, id)
  expect([begun, await w.events('turn.started')]).toEqual([[], []])
})

test('what was started in the moment of the stop is not begun, and its process did not die of it', async () => {
  let stopped: Promise<number> | null = null
  const { store, open } = storeWith(async (keys) => {
    if (keys.some((key) => key.startsWith('flow:'))) stopped ??= w.node.stop().then(() => open.size)
    else await w.rest()
  })
  const { w, begun } = await counting(store)
  const run = learns(w.ask('a', 'go').then(String))
  expect(await w.until(run)).toEqual(new LineClosed())
  // What says so is recorded before the store is closed.
  expect(await w.until(stopped ?? Promise.reject(new Error('it was not stopped')))).toBe(0)
  const [started] = await w.events('turn.started')
  expect((await w.events('turn.suspended')).map(({ event }) => event.turn)).toEqual([started?.event.turn])
  expect([begun, w.node.runtime.running.size]).toEqual([[], 0])
})

test('a turn whose tools are looked for when the node stops does not begin its driver', async () => {
  const { w, begun } = await counting()
  const looked = Promise.withResolvers<[]>()
  w.node.runtime.tools = { of: () => looked.promise }
  await w.ask('a', 'go').accepted
  await w.node.stop()
  looked.resolve([])
  await w.rest()
  expect([begun, w.node.runtime.running.size]).toEqual([[], 0])
})

test('a store that is closed while a run is recorded says no more than that all is closed', async () => {
  const { w } = await counting()
  w.node.runtime.store.transact = () => {
    void w.node.stop()
    return Promise.reject(new Error('the store is closed'))
  }
  expect(await learns(w.ask('a', 'go').accepted)).toEqual(new LineClosed())
})

test('what a client asks for after the stop is not even recorded', async () => {
  const { w } = await counting()
  const who = await client(w)
  await w.node.stop()
  const use = { signal, id: null, trace: null }
  expect(await learns(w.exchange.useTool(who, 'sub_agent', { agent_name: 'a', task: 'x' }, use))).toEqual(
    new LineClosed(),
  )
  expect([await w.events('message.sent'), await w.events('turn.started')]).toEqual([[], []])
})

test.each(['sessionFacts', 'event'] as const)(
  'what a lost node left and this one read (%s) before its stop is not taken after it',
  async (name) => {
    const { w } = await counting()
    const who = await client(w)
    const use = { signal, id: null, trace: null }
    if (name === 'sessionFacts') void learns(w.ask('a', 'go').then(String))
    else void learns(w.exchange.useTool(who, 'sub_agent', { agent_name: 'a', task: 'x' }, use))
    await w.rest()
    const [{ event: opened } = { event: null }] = await w.events('message.sent')
    die(w.node)
    const other = await w.addNode()
    const read = hold(other, name)
    await w.pass(8000)
    await read.asked
    const stopped = other.stop()
    read.give()
    await w.until(stopped)
    await w.rest()
    const claimed = await w.events('session.claimed')
    expect(claimed.filter(({ event }) => event.session === opened?.session)).toEqual([])
  },
)
