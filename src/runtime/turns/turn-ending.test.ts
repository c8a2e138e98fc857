import { expect, onTestFinished, test } from 'vitest'
import { world, type World } from '../../../test/kits/world.ts'
import { turnEnding, untilEnded } from './turn-ending.ts'

test('the end of a turn that is over is read at once, without waiting for anybody to say so', async () => {
  const w = await world({ agents: { a: { script: () => 'done' } } })
  const run = w.ask('a', 'go')
  const sent = await run.accepted
  await w.until(run)
  if (!('turn' in sent)) throw new Error('refused')
  let output = ''
  void turnEnding(w.node.runtime, sent.turn).then((ended) => (output = ended.output))
  await w.rest()
  expect(output).toBe('done')
  expect([w.node.runtime.turnWaiters.size, w.node.runtime.atStop.size]).toEqual([0, 0])
})

test('who waits and goes away has cancelled the turn', async () => {
  const w: World = await world({
    agents: { a: { script: async (turn) => (await w.clock.sleep(1e6, turn.signal), 'done') } },
  })
  for (const when of ['before', 'while']) {
    const sent = await w.ask('a', 'go').accepted
    if (!('turn' in sent)) throw new Error('refused')
    const gone = new AbortController()
    if (when === 'before') gone.abort()
    const ending = untilEnded(w.node.runtime, sent.turn, gone.signal, 'went away')
    await w.rest()
    gone.abort()
    expect(await w.until(ending)).toMatchObject({ outcome: 'cancelled' })
  }
})

test('a stop while the log is read reaches who waits, and does not end the process', async () => {
  const w = await world({ agents: {} })
  const { store } = w.node.runtime
  const [found, unhandled] = [Promise.withResolvers<null>(), [] as unknown[]]
  const note = (reason: unknown): void => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  onTestFinished(() => void process.off('unhandledRejection', note))
  store.turn = () => found.promise
  const ending = turnEnding(w.node.runtime, 'turn_1')
  await w.until(w.node.stop())
  await w.rest()
  found.resolve(null)
  await expect(ending).rejects.toThrow('Tieline was closed')
  expect(unhandled).toEqual([])
})
