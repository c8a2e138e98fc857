/** Words to an agent that can take them in the middle: in order, and none twice. */
import { expect, test } from 'vitest'
import { world, type World } from '../../../test/kits/world.ts'
import type { CallId } from '../../model/id.ts'
import type { Driver } from '../kernel/ports.ts'
import { steerCall } from './steer.ts'

/** A callee that hears words as they come, and is given the others before it may end. */
async function hearing(hear: (word: string, clock: World['clock']) => Promise<boolean>) {
  const given: string[] = []
  const ends = Promise.withResolvers<void>()
  const driver: Driver = {
    async run(_turn, { steering }) {
      steering?.begin()
      steering?.onWord((word) => hear(word, w.clock))
      await ends.promise
      for (let words: readonly string[] = ['']; words.length > 0; given.push(...words))
        words = (await steering?.take(`end-${given.length}`, true)) ?? []
      return { outcome: 'completed', output: 'done', error: null, iterations: 1 }
    },
  }
  const w: World = await world({
    agents: {
      boss: {
        script: async (turn) => {
          await turn.tool('sub_agent', { agent_name: 'worker', task: 'x' })
          return 'ok'
        },
      },
      worker: { driver },
    },
  })
  const run = w.ask('boss', 'go')
  await w.rest()
  const call = (await w.events('call.opened'))[0]?.event.call ?? ('call_none' as CallId)
  const say = async (text: string): Promise<unknown> => {
    const said = await w.until(steerCall(w.node.runtime, call, text, null, null))
    return 'status' in said ? said.status : said
  }
  const end = async (): Promise<string[]> => (ends.resolve(), await w.until(run), given)
  return { w, say, end }
}

test('a word that the agent could not take is given before the next one, and neither twice', async () => {
  const asked: string[] = []
  const { w, say, end } = await hearing(async (word) => (asked.push(word), asked.length > 1))
  expect(await say('one')).toBe('queued')
  expect(await say('two')).toBe('injected')
  expect(asked).toEqual(['one', 'one', 'two'])
  expect(await end()).toEqual([])
  const steps = await w.events('step.ended')
  expect(steps.map(({ event }) => event.output)).toEqual([['one'], ['two']])
})

test('words that are said at the same time are given in order, and none twice', async () => {
  const asked: string[] = []
  const { say, end } = await hearing(async (word, clock) => (await clock.sleep(100), asked.push(word), true))
  expect(await Promise.all(['one', 'two', 'three'].map(say))).toEqual(['injected', 'injected', 'injected'])
  expect(asked).toEqual(['one', 'two', 'three'])
  expect(await end()).toEqual([])
})

test('a word that the agent says late that it has is not given again', async () => {
  const { w, say, end } = await hearing(async (_word, clock) => (await clock.sleep(7000), true))
  expect(await say('one')).toBe('queued')
  await w.pass(2000)
  expect(await end()).toEqual([])
})
