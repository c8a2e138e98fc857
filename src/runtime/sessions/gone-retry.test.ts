/**
 * A program that speaks for a live turn goes away and tries again: what is on record is its answer, what is not is
 * done as the same step. So a turn that runs from its record does the same.
 */
import { expect, test } from 'vitest'
import { kill, mortal, next, use, whenAppended } from '../../../test/kits/mortal.ts'
import type { World, WorldOptions } from '../../../test/kits/world.ts'
import type { Json } from '../../model/json.ts'
import type { Who } from '../desk/asker.ts'
import type { Tool, ToolAnswer } from '../kernel/ports.ts'

type Use = (name: string, input: Json, more?: Parameters<typeof use>[0]) => Promise<ToolAnswer>

/**
 * A turn with a program that does `first` in its first run, and `again` in each; then its node dies, and another takes
 * the turn over. What `again` came to.
 */
async function twice(
  first: (use: Use, w: World) => Promise<unknown>,
  again: (use: Use, w: World) => Promise<unknown>,
  more: Partial<WorldOptions> = {},
  ask: string[] = [],
): Promise<{ w: World; answers: unknown[] }> {
  const answers: unknown[] = []
  const done = Promise.withResolvers<void>()
  let runs = 0
  let w: World
  const options: WorldOptions = {
    ...more,
    agents: {
      driven: {
        ask,
        driver: {
          run: async ({ turn }, _steps, signal) => {
            const who: Who = { kind: 'turn', turn: turn.id }
            const useTool: Use = async (name, input, given = {}) =>
              (await w.exchange.useTool(who, name, input, use(given))) as ToolAnswer
            if ((runs += 1) === 1) await first(useTool, w)
            answers.push(await again(useTool, w))
            done.resolve()
            if (runs === 1)
              await new Promise((_resolve, reject) =>
                signal.addEventListener('abort', () => reject(signal.reason)),
              )
            return { outcome: 'completed', output: 'done', error: null, iterations: 1 }
          },
        },
      },
      ...more.agents,
    },
  }
  w = await mortal(options)
  void w.ask('driven', 'go').then(String, () => undefined)
  await w.until(done.promise)
  await w.pass(5000)
  kill(w)
  w = await next(w, options)
  await w.pass(8000)
  return { w, answers }
}

test.each([
  ['message.sent', 'send_agent_message'],
  ['session.created', 'create_agent_session'],
] as const)('%s: what was done for a client that had gone is not done again', async (type, name) => {
  const inputs = {
    send_agent_message: (id: string) => ({ sessionId: id, message: 'pay the bill' }),
    create_agent_session: () => ({ agent: 'coder', cwd: '/tmp', initialMessage: 'do it' }),
  }
  let [before, session] = [0, '']
  const count = async (w: World): Promise<number> => (await w.events(type)).length
  const { w, answers } = await twice(
    async (useTool, world) => {
      session = ((await world.ask('coder', 'hello').accepted) as { session: string }).session
      await world.clock.sleep(1000)
      before = await count(world)
      const gone = new AbortController()
      whenAppended(world, type, () => gone.abort())
      await useTool(name, inputs[name](session), { id: 'k', signal: gone.signal })
    },
    (useTool) => useTool(name, inputs[name](session), { id: 'k' }),
    { agents: { coder: {} } },
  )
  expect((await count(w)) - before).toBe(1)
  expect(answers).toEqual([answers[0], answers[0]])
  expect(answers[0]).toMatchObject({ ok: true, value: { error: null } })
})

test.each([
  ['k', 'k'],
  ['k', 'k2'],
  [null, null],
])('a call whose client went before it was opened leaves no number: keys %s and %s', async (id, next) => {
  let coded = 0
  const ask = { agent_name: 'coder', task: 'x' }
  const { w, answers } = await twice(
    async (useTool, { node: { runtime } }) => {
      const gone = new AbortController()
      const enter = runtime.opening.enter.bind(runtime.opening)
      runtime.opening.enter = async (owner) => {
        await enter(owner)
        runtime.opening.enter = enter
        gone.abort()
      }
      await useTool('sub_agent', ask, { id, signal: gone.signal })
    },
    (useTool) => useTool('sub_agent', ask, { id: next }),
    { agents: { coder: { script: async () => `did ${(coded += 1)}` } } },
  )
  expect([coded, (await w.events('call.opened')).length]).toEqual([1, 1])
  expect(answers).toMatchObject([{ value: { output: 'did 1' } }, { value: { output: 'did 1' } }])
})

test('a call whose client went while the same was asked again keeps its number for the next try', async () => {
  let coded = 0
  const ask = { agent_name: 'coder', task: 'x' }
  const { w, answers } = await twice(
    async (useTool, { node: { runtime } }) => {
      const gone = new AbortController()
      const [reached, other] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const enter = runtime.opening.enter.bind(runtime.opening)
      runtime.opening.enter = async (owner) => {
        runtime.opening.enter = enter
        reached.resolve()
        await other.promise
        gone.abort()
        await enter(owner)
      }
      const left = useTool('sub_agent', ask, { id: 'k1', signal: gone.signal })
      await reached.promise
      await useTool('sub_agent', ask, { id: 'k2' })
      other.resolve()
      await left
    },
    async (useTool) => [
      await useTool('sub_agent', ask, { id: 'k1' }),
      await useTool('sub_agent', ask, { id: 'k2' }),
    ],
    { agents: { coder: { script: async () => `did ${(coded += 1)}` } } },
  )
  expect([coded, (await w.events('call.opened')).length]).toEqual([2, 2])
  const both = [{ value: { output: 'did 2' } }, { value: { output: 'did 1' } }]
  expect(answers).toMatchObject([both, both])
})

test('a question that was closed because its client had gone is asked again, and what is allowed is done', async () => {
  let runs = 0
  const danger: Tool = {
    name: 'danger',
    effect: 'write',
    calling: false,
    describe: () => ({ name: 'danger', description: '', input: {} }),
    run: async () => ({ ok: true, value: (runs += 1) }),
  }
  const { w, answers } = await twice(
    async (useTool, world) => {
      const gone = new AbortController()
      const left = useTool('danger', {}, { id: 'k', signal: gone.signal })
      await world.clock.sleep(100)
      gone.abort()
      await left
    },
    async (useTool, world) => {
      const asked = useTool('danger', {}, { id: 'k' })
      await world.clock.sleep(200)
      for (const { id } of await world.exchange.questions()) await world.exchange.answer(id, 'allow')
      return asked
    },
    { tools: [danger], asks: true },
    ['danger'],
  )
  expect([runs, answers]).toEqual([
    1,
    [
      { ok: true, value: 1 },
      { ok: true, value: 1 },
    ],
  ])
  expect((await w.events('question.answered')).map(({ event }) => event.answer)).toEqual(['deny', 'allow'])
})
