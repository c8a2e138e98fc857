import { expect, test } from 'vitest'
import { mortal } from '../../../test/kits/mortal.ts'
import type { CallId } from '../../model/id.ts'
import type { Driver } from '../kernel/ports.ts'
import { steerCall } from './steer.ts'
import type { AgentSpec, World } from '../../../test/kits/world.ts'

test('an act that has said a word to one call says nothing to one that waits behind it', async () => {
  const made: { clock?: World['clock'] } = {}
  const worker: Driver = {
    async run(_turn, { steering }, signal) {
      steering?.begin()
      await made.clock?.sleep(3000, signal)
      while (((await steering?.take(`end-${made.clock?.now()}`, true)) ?? []).length > 0);
      return { outcome: 'completed', output: 'done', error: null, iterations: 1 }
    },
  }
  const boss: AgentSpec = {
    script: async (turn) => {
      await turn.tool('call_agent', { agent_id: 'worker', message: 'x' })
      return 'ok'
    },
  }
  const w = await mortal({ agents: { boss, worker: { driver: worker } } })
  made.clock = w.clock
  const runs = [w.ask('boss', 'one'), w.ask('boss', 'two')]
  await w.pass(1000)
  const say = async (n: number) => {
    const call = (await w.events('call.opened'))[n]?.event.call ?? ('call_none' as CallId)
    return steerCall(w.node.runtime, call, 'hurry', null, 'act')
  }
  expect(await say(0)).toMatchObject({ status: 'injected' })
  expect(await say(1)).toEqual({ code: 'message_already_sent', message: 'msg_act' })
  await w.until(Promise.all(runs))
  expect(await w.events('call.steered')).toHaveLength(1)
})
