/** A turn that is about to end takes no word, however late that is seen: nobody would be given it. */
import { expect, test } from 'vitest'
import { mortal } from '../../../test/kits/mortal.ts'
import { toTurnId, type CallId } from '../../model/id.ts'
import type { Driver } from '../kernel/ports.ts'
import { steerCall } from './steer.ts'

async function called(driver: Driver, isThere: (agent: string) => boolean = () => true) {
  const w = await mortal({
    agents: {
      boss: {
        script: async (turn) => {
          await turn.tool('sub_agent', { agent_name: 'worker', task: 'x' })
          return 'ok'
        },
      },
      worker: { driver },
    },
    isThere,
  })
  const run = w.ask('boss', 'go')
  await w.rest()
  const call = (await w.events('call.opened'))[0]?.event.call ?? ('call_none' as CallId)
  return { w, run, call }
}

test('a turn that closes while it is seen whether it takes words takes none', async () => {
  const begins = Promise.withResolvers<void>()
  const ends = Promise.withResolvers<void>()
  const brief: Driver = {
    async run(_turn, { steering }) {
      await begins.promise
      steering?.begin()
      await steering?.take('end', true)
      await ends.promise
      return { outcome: 'completed', output: 'done', error: null, iterations: 1 }
    },
  }
  const { w, run, call } = await called(brief)
  const said = steerCall(w.node.runtime, call, 'too late', null, null)
  await w.pass(510)
  begins.resolve()
  expect(await w.until(said)).toMatchObject({ code: 'call_ended' })
  ends.resolve()
  await w.until(run)
  expect(await w.events('call.steered')).toEqual([])
})

test('a turn that failed takes no word while its end waits to be recorded', async () => {
  const fails = Promise.withResolvers<void>()
  const failing: Driver = {
    async run(_turn, { steering }) {
      steering?.begin()
      await fails.promise
      return { outcome: 'failed', output: '', error: 'it broke', iterations: 1 }
    },
  }
  const { w, run, call } = await called(failing)
  const { runtime } = w.node
  const settles = Promise.withResolvers<void>()
  runtime.running.get(toTurnId(call))?.commits.add(settles.promise)
  fails.resolve()
  await w.rest()
  expect(await steerCall(runtime, call, 'too late', null, null)).toMatchObject({ code: 'call_ended' })
  runtime.running.get(toTurnId(call))?.commits.clear()
  settles.resolve()
  await w.until(run)
  expect(await w.events('call.steered')).toEqual([])
})

test('a turn that begins and closes while a word to it is recorded takes it no more', async () => {
  const ends = Promise.withResolvers<void>()
  const brief: Driver = {
    async run(_turn, { steering }) {
      steering?.begin()
      await steering?.take('end', true)
      await ends.promise
      return { outcome: 'completed', output: 'done', error: null, iterations: 1 }
    },
  }
  let there = false
  const { w, run, call } = await called(brief, (name) => name !== 'worker' || there)
  const { store } = w.node.runtime
  const turn = store.turn.bind(store)
  const looked = Promise.withResolvers<void>()
  store.turn = async (id) => (await looked.promise, turn(id))
  const said = steerCall(w.node.runtime, call, 'too late', null, null)
  store.turn = turn
  there = true
  await w.pass(2000)
  looked.resolve()
  expect(await w.until(said)).toMatchObject({ code: 'call_ended' })
  expect(await w.events('call.steered')).toEqual([])
  ends.resolve()
  await w.until(run)
})
