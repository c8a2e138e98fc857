/** What a node says when it stops, and that it lets go of what another has. */
import { expect, test } from 'vitest'
import { virtualClock, world } from '../../test/kits/world.ts'
import { isRefusal } from '../model/refusal.ts'
import { sqliteStore } from '../store/sqlite.ts'
import { sweep } from './node.ts'

const never = { driver: { run: () => new Promise<never>(() => undefined) } }

test('a node that stops cleanly says of each turn that it did not die of it', async () => {
  const w = await world({ agents: { a: never } })
  const sent = await w.ask('a', 'go').accepted
  if (isRefusal(sent)) throw new Error(sent.code)
  await w.rest()
  await w.until(w.node.stop())
  expect((await w.events('turn.suspended')).map(({ event }) => event.turn)).toEqual([sent.turn])
})

test('R6: a node lets go of a turn that another has taken over, also where no hint said so', async () => {
  const clock = virtualClock()
  const store = sqliteStore({ directory: ':memory:', now: () => clock.now() })
  const w = await world({ agents: { a: never }, store, clock })
  const sent = await w.ask('a', 'go').accepted
  if (isRefusal(sent)) throw new Error(sent.code)
  await w.rest()
  const running = w.node.runtime.running.get(sent.turn)
  if (running === undefined) throw new Error('it does not run')
  // As if the hint of the takeover had not come.
  w.node.runtime.running.set(sent.turn, Object.assign(running, { epoch: running.epoch - 1 }))
  await sweep(w.node.runtime)
  expect(running.abort.signal.aborted).toBe(true)
})
