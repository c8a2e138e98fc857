/** A world whose server dies at a chosen event and comes back on the same log. */
import type { Store, Tx } from '../../src/runtime/kernel/store-port.ts'
import type { Event } from '../../src/model/event.ts'
import type { Json } from '../../src/model/json.ts'
import { world, type World, type WorldOptions } from './world.ts'
import type { ToolAnswer } from '../../src/runtime/kernel/ports.ts'
import type { ToolUse } from '../../src/runtime/sessions/client-turn.ts'
import type { Who } from '../../src/runtime/desk/asker.ts'

export const use = (more: Partial<ToolUse> = {}): ToolUse => ({
  signal: new AbortController().signal,
  id: null,
  trace: null,
  ...more,
})

export const client = async (w: World): Promise<Who> => ({
  kind: 'session',
  session: await w.exchange.clientSession('test', '/tmp'),
})

export const ask = { agent_name: 'coder', task: 'it' }

export const retry = async (w: World, id: string, input: Json = ask): Promise<Record<string, Json>> =>
  ((await w.until(w.exchange.useTool(await client(w), 'sub_agent', input, use({ id })))) as ToolAnswer)
    .value as Record<string, Json>

/** The process is gone without a word: it writes nothing more, and its lease runs out. */
export function kill({ node: { runtime } }: World): void {
  runtime.store.transact = () => new Promise<never>(() => undefined)
  runtime.stopping.abort(new Error('killed'))
  runtime.alarm.stop()
  for (const running of runtime.running.values()) running.abort.abort(new Error('killed'))
  runtime.running.clear()
  runtime.turnWaiters.clear()
}

/**
 * A world whose node has the store to itself, so that it can die while the store lives on in the next world.
 */
export async function mortal(options: WorldOptions): Promise<World> {
  const w = await world(options)
  const { store } = w
  Object.assign(w.node.runtime, {
    store: new Proxy(
      {},
      {
        get(own: Record<string | symbol, unknown>, name) {
          if (name in own) return own[name]
          const value = Reflect.get(store, name) as unknown
          return typeof value === 'function' ? value.bind(store) : value
        },
      },
    ) as Store,
  })
  return w
}

export const next = async (w: World, options: WorldOptions): Promise<World> => {
  await w.pass(6000)
  return world({ ...options, store: w.store, clock: w.clock })
}

/**
 * Runs until a commit holds an event of that type, and dies as soon as it is durable: before anybody could be
 * told.
 */
export function killAfter(w: World, type: Event['type'], count = 1): Promise<void> {
  const { store } = w.node.runtime
  const transact = store.transact.bind(store)
  let left = count
  return new Promise((died) => {
    store.transact = async (keys, work) => {
      let hit = false
      const result = await transact(keys, (tx) => work(watching(tx, () => (hit = true), type)))
      if (!hit || (left -= 1) > 0) return result
      kill(w)
      died()
      return new Promise<never>(() => undefined)
    }
  })
}

/** Calls `act` each time that a commit with an event of that type is durable, before anybody is told. */
export function whenAppended({ node: { runtime } }: World, type: Event['type'], act: () => void): void {
  const transact = runtime.store.transact.bind(runtime.store)
  runtime.store.transact = async (keys, work, urgent) => {
    let hit = false
    const result = await transact(keys, (tx) => work(watching(tx, () => (hit = true), type)), urgent)
    if (hit) act()
    return result
  }
}

export const watching = (tx: Tx, hit: () => void, type: Event['type']): Tx =>
  new Proxy(tx, {
    get(target, name) {
      if (name !== 'append') return Reflect.get(target, name) as unknown
      return (...events: Event[]) => {
        if (events.some((event) => event.type === type)) hit()
        target.append(...events)
      }
    },
  })

export const coder: WorldOptions = { agents: { coder: { script: (turn) => `did ${turn.task}` } } }
