import { expect, test } from 'vitest'
import { virtualClock, world } from '../../../test/kits/world.ts'
import { Agent } from '../../model/agent.ts'
import type { Driver } from '../kernel/ports.ts'
import { sqliteStore } from '../../store/sqlite.ts'
import { agentBook, createAgent, type AgentBook } from './agent-book.ts'

const driver: Driver = { run: () => Promise.reject(new Error('nobody runs it')) }

/** As one that hears of nothing: not of a commit that reported a fault, and not of another process. */
const deafBook = (): AgentBook =>
  agentBook(
    { get: () => undefined, names: () => [], driver: () => driver },
    {
      define: (name, { title, prompt }) => Agent.parse({ name, title, prompt, driver: 'x' }),
      driver: () => driver,
      isThere: () => true,
    },
  )

const ask = { name: 'Scribe', system: 'You write.', description: '', model: null, tools: null, id: 'one' }

test('an agent whose first try was answered with a fault was unknown to its second try', async () => {
  const w = await world({ agents: {} })
  const book = deafBook()
  expect(await createAgent(w.node.runtime, book, ask, '/')).toMatchObject({ id: 'agent_one' })
  expect(book.names()).toEqual(['agent_one'])
  expect(await createAgent(w.node.runtime, book, ask, '/')).toMatchObject({ id: 'agent_one' })
})

test('a hint that does not say what was appended makes the book read the log again', async () => {
  const w = await world({ agents: {} })
  const [writer, reader] = [deafBook(), deafBook()]
  await reader.load(w.node.runtime.lists)
  await createAgent(w.node.runtime, writer, ask, '/')
  expect(reader.names()).toEqual([])
  reader.apply({ kind: 'appended' })
  await w.rest()
  expect(reader.names()).toEqual(['agent_one'])
  const deleted = {
    type: 'agent.deleted',
    session: 'ses_main-agent_one',
    turn: null,
    agent: 'agent_one',
  } as const
  await w.store.transact(['session:ses_main-agent_one'], async (tx) => tx.append(deleted))
  reader.apply({ kind: 'appended' })
  await w.rest()
  expect(reader.names()).toEqual([])
})

test('R11: one agent too many was made after a first try that was answered with a fault and kept', async () => {
  const clock = virtualClock()
  const store = sqliteStore({ directory: ':memory:', now: () => clock.now() })
  const w = await world({ agents: {}, store, clock, limits: { agentsMadeMax: 1 } })
  const book = deafBook()
  const transact = store.transact.bind(store)
  store.transact = async (keys, work) => {
    await transact(keys, work)
    throw new Error('nobody knows whether the commit was made')
  }
  await expect(createAgent(w.node.runtime, book, ask, '/')).rejects.toThrow('nobody knows')
  store.transact = transact
  expect(await createAgent(w.node.runtime, book, { ...ask, id: 'two' }, '/')).toEqual({
    code: 'too_many_agents',
    made: 1,
    madeMax: 1,
  })
  expect(await createAgent(w.node.runtime, book, ask, '/')).toMatchObject({ id: 'agent_one' })
})

test('R11: one agent too many was made while it was looked up what became of another', async () => {
  const clock = virtualClock()
  const store = sqliteStore({ directory: ':memory:', now: () => clock.now() })
  const w = await world({ agents: {}, store, clock, limits: { agentsMadeMax: 2 } })
  const book = deafBook()
  const transact = store.transact.bind(store)
  const slow = Promise.withResolvers<void>()
  store.transact = async (keys, work) => {
    if (keys.includes('session:ses_main-agent_slow')) await slow.promise
    const value = await transact(keys, work)
    if (keys.length > 0) throw new Error('nobody knows whether the commit was made')
    return value
  }
  const make = (id: string) => createAgent(w.node.runtime, book, { ...ask, id }, '/')
  const broken = make('slow').catch(() => 'nobody knows')
  await expect(make('one')).rejects.toThrow('nobody knows')
  const load = book.load.bind(book)
  book.load = async (lists) => {
    await load(lists)
    // Only now the other is kept, and reports a fault as well.
    slow.resolve()
    await broken
    store.transact = transact
  }
  expect(await make('two')).toMatchObject({ code: 'too_many_agents', made: 2 })
})

test('of two agents that were given one name the newer is meant, and each has its id', async () => {
  const w = await world({ agents: {} })
  const book = deafBook()
  for (const id of ['one', 'two']) await createAgent(w.node.runtime, book, { ...ask, id }, '/')
  await book.load(w.node.runtime.lists)
  const resolved = ['Scribe', 'agent_one', 'agent_two', 'nobody'].map((name) => book.resolve?.(name)?.name)
  expect(resolved).toEqual(['agent_two', 'agent_one', 'agent_two', undefined])
})
