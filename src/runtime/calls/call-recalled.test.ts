/** Calls of a turn that runs again after a crash, and what a caller may still spend. */
import { expect, test } from 'vitest'
import { kill, mortal, next } from '../../../test/kits/mortal.ts'
import { cent, payer } from '../../../test/kits/payer.ts'
import { world, type World, type WorldOptions } from '../../../test/kits/world.ts'
import type { Json } from '../../model/json.ts'
import type { Driver } from '../kernel/ports.ts'

/** Calls, and then hangs until it is let go. Gives the answer of the call. */
async function crashed(input: Json): Promise<{ after: World; output: string }> {
  let open = false
  const options: WorldOptions = {
    agents: {
      boss: {
        script: async (turn) => {
          const { value } = await turn.tool('sub_agent', input)
          if (!open) await new Promise(() => undefined)
          return JSON.stringify(value)
        },
      },
      coder: { script: () => 'did it' },
    },
  }
  const w = await mortal(options)
  w.ask('boss', 'go').catch(() => undefined)
  await w.pass(500)
  kill(w)
  open = true
  const after = await next(w, options)
  await after.pass(5000)
  return { after, output: (await after.events('turn.ended')).at(-1)?.event.output ?? '' }
}

test('R10: a call that was refused before a crash is refused after it, and recorded once', async () => {
  const { after, output } = await crashed({ agent_name: 'nobody', task: 'x' })
  expect(JSON.parse(output)).toMatchObject({ outcome: 'refused', success: false })
  expect(await after.events('call.refused')).toHaveLength(1)
})

test('R10: a call that could not even be read is recorded once', async () => {
  const { after } = await crashed({ agent_name: 5, task: 'x' })
  expect((await after.events('turn.ended')).at(-1)?.event.outcome).toBe('completed')
  expect(await after.events('call.refused')).toHaveLength(1)
})

test('R10: a call that had ended before a crash is not opened again, and its answer is there', async () => {
  const { after, output } = await crashed({ agent_name: 'coder', task: 'x' })
  expect(JSON.parse(output)).toMatchObject({ outcome: 'completed', output: 'did it' })
  expect(await after.events('call.opened')).toHaveLength(1)
})

test('R7: what its caller has paid itself is not there for a call', async () => {
  const paying: Driver = {
    async run(turn, steps, signal) {
      await payer(90, 1).run(turn, steps, signal)
      await steps.tool('sub_agent', { agent_name: 'coder', task: 'x', max_usd: 0.5 })
      return { outcome: 'completed', output: 'ok', error: null, iterations: 1 }
    },
  }
  const w = await world({ agents: { boss: { driver: paying }, coder: {} } })
  await w.run('boss', 'go', { maxUsd: 1 })
  const granted = (await w.events('call.opened')).map(({ event }) => event.grant.nanoUsdMax ?? Infinity)
  const refused = await w.events('call.refused')
  expect(granted.length + refused.length).toBe(1)
  for (const max of granted) expect(max).toBeLessThanOrEqual(10 * cent)
})

test('each call takes a place in the line of its flow while it is decided, and gives it back', async () => {
  const w = await world({
    agents: {
      boss: {
        script: async (turn) => {
          for (const agent_name of ['coder', 'nobody'])
            await turn.tool('sub_agent', { agent_name, task: 'x' })
          return 'ok'
        },
      },
      coder: {},
    },
  })
  const line: string[] = []
  const opening = {
    enter: async (owner: string) => void line.push(`enters ${owner}`),
    leave: (owner: string) => void line.push(`leaves ${owner}`),
  }
  Object.assign(w.node.runtime, { opening })
  const { flow } = await w.run('boss', 'go')
  expect(line).toEqual([`enters ${flow}`, `leaves ${flow}`, `enters ${flow}`, `leaves ${flow}`])
})
