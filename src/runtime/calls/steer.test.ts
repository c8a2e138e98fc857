/** Words to a call that runs: recorded once, given once, at the right moment, and refused where nobody hears. */
import { expect, test } from 'vitest'
import { world, type World, type WorldOptions } from '../../../test/kits/world.ts'
import { kill, mortal, next } from '../../../test/kits/mortal.ts'
import type { CallId } from '../../model/id.ts'
import type { Driver } from '../kernel/ports.ts'
import { cancel } from '../turns/ending.ts'
import { toTurnId } from '../../model/id.ts'
import { steerCall } from './steer.ts'

type Heard = { at: string; words: readonly string[] }

/** A callee that takes words every second, for so many seconds, and once more before it ends. */
function listener(heard: Heard[], seconds: number, clock: () => World['clock']): Driver {
  return {
    async run(_turn, { steering }, signal) {
      steering?.begin()
      for (let n = 0; n < seconds; n += 1) {
        await clock().sleep(1000, signal)
        heard.push({ at: `round ${n}`, words: (await steering?.take(`round-${n}`, false)) ?? [] })
      }
      for (let words: readonly string[] = ['']; words.length > 0;) {
        words = (await steering?.take(`end-${heard.length}`, true)) ?? []
        heard.push({ at: 'end', words })
      }
      return { outcome: 'completed', output: 'done', error: null, iterations: 1 }
    },
  }
}

async function called(heard: Heard[], more: Partial<WorldOptions> = {}, seconds = 3) {
  const made: { clock?: World['clock'] } = {}
  const clock = () => made.clock as World['clock']
  const options: WorldOptions = {
    agents: {
      boss: {
        script: async (turn) => {
          await turn.tool('sub_agent', { agent_name: 'worker', task: 'x' })
          return 'ok'
        },
      },
      worker: { driver: listener(heard, seconds, clock) },
      ...more.agents,
    },
    limits: { taskBytesMax: 1024 },
  }
  const w = await mortal(options)
  made.clock = w.clock
  const run = w.ask('boss', 'go')
  run.catch(() => undefined)
  await w.rest()
  const call = (await w.events('call.opened'))[0]?.event.call ?? ('call_none' as CallId)
  return { w, run, call, options }
}

test('a word is given at the next place, once, and a word to the end before the turn may end', async () => {
  const heard: Heard[] = []
  const { w, run, call } = await called(heard)
  expect(await steerCall(w.node.runtime, call, 'one', null, null)).toEqual({
    call_id: call,
    status: 'injected',
  })
  await w.pass(2500)
  await steerCall(w.node.runtime, call, 'two', null, null)
  await w.until(run)
  expect(heard.map(({ words }) => words)).toEqual([['one'], [], ['two'], []])
  expect((await w.events('call.steered')).map(({ event }) => event.text)).toEqual(['one', 'two'])
})

test('a word that comes after the last round is given before the turn ends, and none is taken after that', async () => {
  const heard: Heard[] = []
  const { w, run, call } = await called(heard, {}, 1)
  const { runtime } = w.node
  await w.pass(999)
  const running = runtime.running.get(toTurnId(call))
  if (running === undefined) throw new Error('it does not run')
  // The sender is told that it will be given, so the turn waits until it is recorded.
  running.steering.coming += 1
  await w.pass(100)
  await steerCall(runtime, call, 'late', null, null)
  running.steering.coming -= 1
  await w.until(run)
  expect(heard.flatMap(({ words }) => words)).toEqual(['late'])
  expect(running.steering.isClosed).toBe(true)
  expect(await w.events('call.steered')).toHaveLength(1)
})

test('a turn that is about to end takes no word', async () => {
  const { w, run, call } = await called([])
  const running = w.node.runtime.running.get(toTurnId(call))
  if (running === undefined) throw new Error('it does not run')
  running.steering.isClosed = true
  expect(await steerCall(w.node.runtime, call, 'too late', null, null)).toMatchObject({ code: 'call_ended' })
  await w.until(run)
  expect(await w.events('call.steered')).toEqual([])
})

test('a word that is tried again is said once; one that is too long is not said', async () => {
  const heard: Heard[] = []
  const { w, run, call } = await called(heard)
  for (let n = 0; n < 2; n += 1)
    expect(await steerCall(w.node.runtime, call, 'one', null, 'act')).toMatchObject({ call_id: call })
  const both = [0, 1].map(() => steerCall(w.node.runtime, call, 'both', null, 'twice'))
  expect(await Promise.all(both)).toMatchObject([{ call_id: call }, { call_id: call }])
  expect(await steerCall(w.node.runtime, call, 'two', null, 'act')).toEqual({
    code: 'message_already_sent',
    message: 'msg_act',
  })
  expect(await steerCall(w.node.runtime, call, 'x'.repeat(1025), null, null)).toMatchObject({
    code: 'too_large',
    bytes: 1025,
    bytesMax: 1024,
  })
  await w.until(run)
  expect(heard.flatMap(({ words }) => words)).toEqual(['one', 'both'])
  // What was said stays said: only a new word is too late.
  expect(await steerCall(w.node.runtime, call, 'one', null, 'act')).toMatchObject({ call_id: call })
  expect(await steerCall(w.node.runtime, call, 'one', null, 'late')).toMatchObject({ code: 'call_ended' })
})

test('what an agent says stands in a frame that names it, and what the user says does not', async () => {
  const heard: Heard[] = []
  const { w, run, call } = await called(heard)
  await steerCall(w.node.runtime, call, 'mine', null, null)
  await steerCall(w.node.runtime, call, 'theirs', 'ses_peer', null)
  await w.until(run)
  const [mine, theirs] = heard.flatMap(({ words }) => words)
  expect(mine).toBe('mine')
  expect(theirs).toMatch(/ses_peer[^]*theirs/)
})

test('each turn of a session is given its own words, and none of an earlier one', async () => {
  const heard: Heard[] = []
  const made: { clock?: World['clock'] } = {}
  const w = await world({
    agents: {
      boss: {
        script: async (turn) => {
          for (const message of ['first', 'second'])
            await turn.tool('call_agent', { agent_id: 'worker', message })
          return 'ok'
        },
      },
      worker: { driver: listener(heard, 1, () => made.clock as World['clock']) },
    },
  })
  made.clock = w.clock
  const run = w.ask('boss', 'go')
  const given: string[][] = []
  for (const word of ['one', 'two']) {
    await w.rest()
    const call = (await w.events('call.opened')).at(-1)?.event.call ?? ('call_none' as CallId)
    await steerCall(w.node.runtime, call, word, null, null)
    await w.pass(1500)
    given.push(heard.splice(0).flatMap(({ words }) => [...words]))
  }
  await w.until(run)
  expect(given).toEqual([['one'], ['two']])
})

test('a call that was told to stop takes no word, nor does an agent that hears none', async () => {
  const { w, call } = await called([])
  const { runtime } = w.node
  await cancel(runtime, toTurnId(call), 'cancelled', 'enough')
  expect(await steerCall(runtime, call, 'late', null, null)).toMatchObject({ code: 'call_ended' })
  expect(await w.events('call.steered')).toEqual([])
  const deafWorld: World = await world({
    agents: {
      boss: {
        script: async (turn) => {
          await turn.tool('sub_agent', { agent_name: 'deaf', task: 'x' })
          return 'ok'
        },
      },
      deaf: { script: async (turn) => (await deafWorld.clock.sleep(10_000, turn.signal), 'ok') },
    },
  })
  void deafWorld.ask('boss', 'go')
  await deafWorld.rest()
  const deaf = (await deafWorld.events('call.opened'))[0]?.event.call ?? ('call_none' as CallId)
  const said = deafWorld.until(steerCall(deafWorld.node.runtime, deaf, 'hey', null, null))
  expect(await said).toMatchObject({ code: 'not_allowed', agent: 'deaf' })
  expect(await deafWorld.events('call.steered')).toEqual([])
})

test('R10: a word that was not given before a crash is given after it, and only once', async () => {
  const heard: Heard[] = []
  const { w, call, options } = await called(heard, {}, 2)
  await steerCall(w.node.runtime, call, 'one', null, null)
  await w.pass(1500)
  expect(heard.flatMap(({ words }) => words)).toEqual(['one'])
  await steerCall(w.node.runtime, call, 'two', null, null)
  kill(w)
  heard.length = 0
  const after = await next(w, options)
  await after.pass(10_000)
  expect((await after.events('call.ended')).map(({ event }) => event.outcome)).toEqual(['completed'])
  expect(heard.flatMap(({ words }) => words).filter((word) => word === 'two')).toEqual(['two'])
})

test('a word to a turn that is queued is given when it begins', async () => {
  const heard: Heard[] = []
  const made: { clock?: World['clock'] } = {}
  let there = false
  const w = await world({
    agents: {
      boss: {
        script: async (turn) => {
          await turn.tool('sub_agent', { agent_name: 'worker', task: 'x' })
          return 'ok'
        },
      },
      worker: { driver: listener(heard, 1, () => made.clock as World['clock']) },
    },
    isThere: (agent) => agent !== 'worker' || there,
  })
  made.clock = w.clock
  const run = w.ask('boss', 'go')
  await w.rest()
  const call = (await w.events('call.opened'))[0]?.event.call ?? ('call_none' as CallId)
  expect(await steerCall(w.node.runtime, call, 'early', null, null)).toEqual({
    call_id: call,
    status: 'queued',
  })
  there = true
  await w.until(run)
  expect(heard.flatMap(({ words }) => words)).toEqual(['early'])
})

test('R11: what was said to a call that never begins is forgotten with it', async () => {
  const nobody = listener([], 1, () => w.clock)
  const w = await world({
    agents: {
      boss: {
        script: (turn) => turn.tool('sub_agent', { agent_name: 'worker', task: 'x' }).then(() => 'ok'),
      },
      worker: { driver: nobody },
    },
    isThere: (agent) => agent !== 'worker',
  })
  const run = w.ask('boss', 'go')
  await w.rest()
  const call = (await w.events('call.opened'))[0]?.event.call ?? ('call_none' as CallId)
  await steerCall(w.node.runtime, call, 'early', null, null)
  expect(w.node.runtime.steeredEarly.size).toBe(1)
  await cancel(w.node.runtime, toTurnId(call), 'cancelled', 'not needed any more')
  await w.until(run)
  expect(w.node.runtime.steeredEarly.size).toBe(0)
})

test('an agent that does not answer to a word keeps who spoke waiting for six seconds only', async () => {
  const { w, call } = await called([], {}, 20)
  const running = w.node.runtime.running.get(toTurnId(call))
  if (running === undefined) throw new Error('it does not run')
  running.steering.hear = () => new Promise(() => undefined)
  const at = w.clock.elapsed()
  expect(await w.until(steerCall(w.node.runtime, call, 'hey', null, null))).toEqual({
    call_id: call,
    status: 'queued',
  })
  expect(w.clock.elapsed() - at).toBe(6000)
})
