/** R10: what was recorded with marks is folded, replayed and taken up again as it was. */
import { expect, test } from 'vitest'
import { flowOf, replayed } from '../../../test/kits/replay.ts'
import { viewsEqual } from '../../store/rebuild.ts'
import type { Driver, Tool } from './ports.ts'
import { shaped, ofVariable, named, guardedWorld, leaky } from '../../../test/kits/guarded-world.ts'

test('R10: the views are the fold of what was written', async () => {
  const w = await guardedWorld(
    {
      planner: {
        script: async (turn) => {
          await turn.tool('leaky', {})
          return `it is ${shaped}`
        },
      },
    },
    [leaky],
  )
  const first = await w.run('planner', `remember ${shaped}`)
  await w.run('planner', 'again', { session: first.session as `ses_${string}` })
  expect(viewsEqual(w.store.db)).toEqual({ equal: true, difference: null })
})

test('R10: runs are replayed as they were, with marks and without', async () => {
  const w = await guardedWorld(
    {
      planner: {
        script: async (turn) => {
          await turn.tool('leaky', {})
          await turn.think(turn.task)
          const { value } = await turn.tool('sub_agent', {
            agent_name: 'coder',
            task: `part of: ${turn.task}`,
          })
          return String((value as { output: string }).output)
        },
      },
      coder: {
        script: async (turn) => {
          await turn.think('hm')
          return `did ${turn.task}`
        },
      },
    },
    [leaky],
  )
  for (const task of ['no secret', `with ${shaped} and ${ofVariable}`]) {
    await w.run('planner', task)
    expect(await replayed(w, await flowOf(w))).toMatchObject({ equal: true })
  }
})

/**
 * Two answers with a write between them, a call, and a wait that the test ends: everything holds a secret.
 */
const secretive = (asked: string[], gate: () => Promise<void>): Driver => ({
  async run(turn, steps) {
    const ask = (text: string) =>
      steps.step('model', 'm', { text }, async () => {
        asked.push(text)
        return { value: { text: `${text}, said ${shaped}` }, usage: null }
      })
    const { text } = (await ask(turn.prompt)) as { text: string }
    await steps.tool('count', { n: text })
    await steps.tool('count', { n: 'plain' })
    await steps.tool('sub_agent', { agent_name: 'helper', task: `help with ${text}` })
    await gate()
    await ask('last')
    return { outcome: 'completed', output: 'finished', error: null, iterations: 2 }
  },
})

test('R10: a turn whose record has marks is taken up again without repeating a model, a write or a call', async () => {
  const asked: string[] = []
  const effects: string[] = []
  let open = false
  const count: Tool = {
    name: 'count',
    effect: 'write',
    calling: false,
    describe: () => ({ name: 'count', description: 'counts', input: {} }),
    run: async (input) => {
      effects.push(JSON.stringify(input))
      return { ok: true, value: 1 }
    },
  }
  const w = await guardedWorld(
    {
      a: {
        driver: secretive(asked, async () => {
          if (!open) await new Promise(() => undefined)
        }),
      },
      helper: { script: () => 'helped' },
    },
    [count],
  )
  void w.ask('a', `begin with ${shaped}`)
  await w.pass(100)
  expect([asked.length, effects.length, (await w.events('call.ended')).length]).toEqual([1, 2, 1])
  // The node dies: it hears, says and does nothing more.
  const { runtime } = w.node
  runtime.stopping.abort(new Error('killed'))
  runtime.alarm.stop()
  for (const running of runtime.running.values()) running.abort.abort(new Error('killed'))
  runtime.running.clear()
  open = true
  await w.addNode()
  await w.pass(20_000)
  expect(asked.slice(1)).toEqual(['last'])
  expect(effects.length).toBe(2)
  expect((await w.events('call.opened')).length).toBe(1)
  expect(
    (await w.events('turn.ended'))
      .filter(({ event }) => event.output === 'finished')
      .map(({ event }) => event.outcome),
  ).toEqual(['completed'])
})

const note: Tool = {
  ...leaky,
  name: 'note',
  effect: 'write',
  describe: () => ({ name: 'note', description: 'notes', input: {} }),
  run: async () => ({ ok: true, value: 'noted' }),
}

test('R10: what a script takes from a named field and uses elsewhere is found again by a replay', async () => {
  const w = await guardedWorld(
    {
      a: {
        script: async (turn) => {
          const { value } = await turn.tool('leaky', {})
          await turn.tool('note', { text: `log in with ${(value as { password: string }).password}` })
          await turn.tool('sub_agent', {
            agent_name: 'b',
            task: `use ${(value as { password: string }).password}`,
          })
          return 'done'
        },
      },
      b: { script: () => 'ok' },
    },
    [leaky, note],
  )
  await w.run('a', 'go')
  expect((await w.events('step.ended')).map(({ event }) => JSON.stringify(event)).join()).toContain(
    `log in with ${named}`,
  )
  expect(await replayed(w, await flowOf(w))).toMatchObject({ equal: true })
})
