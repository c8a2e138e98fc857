import { expect, test } from 'vitest'
import { ask, client, kill, mortal, use } from '../../../test/kits/mortal.ts'
import type { WorldOptions, World } from '../../../test/kits/world.ts'
import { takeClientTurn } from './claim.ts'

test('R3: what a client of 0.1.0 had called ends with its turn, which nobody can run again', async () => {
  const options: WorldOptions = {
    agents: { coder: { script: async (turn) => (await w.clock.sleep(60_000, turn.signal), 'at last') } },
  }
  const w: World = await mortal(options)
  const { runtime } = await w.addNode()
  w.exchange.useTool(await client(w), 'sub_agent', ask, use()).catch(() => undefined)
  await w.rest()
  const [turn] = await w.store.turns({ session: 'ses_client-test' }, 10)
  if (turn === undefined) throw new Error('the client has no turn')
  kill(w)
  const event = runtime.store.event.bind(runtime.store)
  runtime.store.event = async (seq) => {
    const stored = await event(seq)
    if (stored?.event.type !== 'message.sent') return stored
    const { use: _use, ...old } = stored.event
    return { ...stored, event: old }
  }
  await takeClientTurn(runtime, turn.id)
  const [ended, [called]] = [await w.events('turn.ended'), await w.events('call.ended')]
  expect(ended.map(({ event: { turn: id, outcome } }) => [id, outcome])).toEqual([[turn.id, 'lost']])
  expect(called?.event.outcome).toBe('cancelled')
})
