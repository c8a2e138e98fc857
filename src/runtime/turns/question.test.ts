/** Permission questions: asked with who and for what, answered once, no answer is a no. */
import { expect, test } from 'vitest'
import type { Tool } from '../kernel/ports.ts'
import { world } from '../../../test/kits/world.ts'
import { replayed } from '../../../test/kits/replay.ts'

const ran: string[] = []
const danger: Tool = {
  name: 'danger',
  effect: 'write',
  calling: false,
  describe: () => ({ name: 'danger', description: '', input: {} }),
  run: async (input) => {
    ran.push(JSON.stringify(input))
    return { ok: true, value: 'done' }
  },
}
const careful = {
  ask: ['danger'],
  script: async (turn: { task: string; tool: (name: string, input: never) => Promise<{ value: unknown }> }) =>
    JSON.stringify((await turn.tool('danger', { what: turn.task } as never)).value),
}

test('a tool under ask waits for a person, who is told who asks, for what, on whose behalf', async () => {
  const w = await world({
    agents: {
      planner: {
        script: async (turn) =>
          JSON.stringify((await turn.tool('sub_agent', { agent_name: 'coder', task: 'it' })).value),
      },
      coder: careful,
    },
    tools: [danger],
    asks: true,
  })
  const run = w.ask('planner', 'go')
  await w.rest()
  const [question] = await w.exchange.questions()
  expect(question).toMatchObject({
    agent: 'coder',
    tool: 'danger',
    input: { what: 'it' },
    path: ['planner', 'coder'],
  })
  expect(ran).toEqual([])
  expect(await w.exchange.answer(question?.id ?? '', 'allow')).toEqual({
    question: question?.id,
    answer: 'allow',
  })
  expect((await w.until(run)).output).toContain('done')
  expect(ran.splice(0)).toEqual(['{"what":"it"}'])
  expect(await w.exchange.questions()).toEqual([])
})

test('the first answer counts; after a no the tool does not run, and the model is told', async () => {
  const w = await world({ agents: { coder: careful }, tools: [danger], asks: true })
  const run = w.ask('coder', 'x')
  await w.rest()
  const id = (await w.exchange.questions())[0]?.id ?? ''
  const answers = await Promise.all([w.exchange.answer(id, 'deny'), w.exchange.answer(id, 'allow')])
  expect(answers).toEqual([
    { question: id, answer: 'deny' },
    { code: 'question_answered', question: id, answer: 'deny', by: 'user' },
  ])
  expect((await w.until(run)).output).toContain('tool_disabled')
  expect(ran.splice(0)).toEqual([])
  expect(await w.exchange.answer('question_none', 'allow')).toMatchObject({ code: 'question_unknown' })
})

test('no answer by the deadline is a no, while there is still time to say so', async () => {
  const w = await world({
    agents: {
      planner: {
        script: async (turn) =>
          JSON.stringify(
            (await turn.tool('sub_agent', { agent_name: 'coder', task: 'x', timeout_seconds: 60 })).value,
          ),
      },
      coder: careful,
    },
    tools: [danger],
    asks: true,
  })
  const result = await w.run('planner', 'go')
  expect(JSON.parse(result.output)).toMatchObject({
    outcome: 'completed',
    output: expect.stringContaining('nobody answered by the deadline') as string,
  })
  expect((await w.events('question.answered'))[0]?.event).toMatchObject({
    answer: 'deny',
    by: 'nobody answered by the deadline',
  })
  expect(ran.splice(0)).toEqual([])
})

test('several questions at once are a queue, and each gets its own answer', async () => {
  const w = await world({
    agents: {
      coder: {
        ask: ['danger'],
        script: async (turn) =>
          JSON.stringify(
            (await Promise.all(['a', 'b', 'c', 'a'].map((what) => turn.tool('danger', { what })))).map(
              ({ ok }) => ok,
            ),
          ),
      },
    },
    tools: [danger],
    asks: true,
  })
  const run = w.ask('coder', 'x')
  await w.rest()
  const questions = await w.exchange.questions()
  expect(questions.length).toBe(4)
  for (const { id, input } of questions)
    await w.exchange.answer(id, (input as { what: string }).what === 'b' ? 'deny' : 'allow')
  expect((await w.until(run)).output).toBe('[true,false,true,true]')
  expect(ran.splice(0).toSorted()).toEqual(['{"what":"a"}', '{"what":"a"}', '{"what":"c"}'])
})

test('a turn that was cancelled asks no longer; an answer then is refused', async () => {
  const w = await world({ agents: { coder: careful }, tools: [danger], asks: true })
  const run = w.ask('coder', 'x')
  await w.rest()
  const id = (await w.exchange.questions())[0]?.id ?? ''
  await run.cancel()
  await w.until(run)
  await w.rest()
  expect(await w.exchange.questions()).toEqual([])
  expect(await w.exchange.answer(id, 'allow')).toMatchObject({ code: 'call_ended' })
})

test('after the death of a node the question stands as it was: answered once, asked once', async () => {
  const w = await world({ agents: { coder: careful }, tools: [danger], asks: true })
  const run = w.ask('coder', 'x')
  void Promise.resolve(run).catch(() => undefined)
  await w.rest()
  await w.addNode()
  await w.node.stop()
  await w.pass(10_000)
  const questions = await w.exchange.questions()
  expect(questions.length).toBe(1)
  await w.exchange.answer(questions[0]?.id ?? '', 'allow')
  await w.pass(5000)
  expect((await w.events('question.asked')).length).toBe(1)
  expect((await w.events('turn.ended'))[0]?.event).toMatchObject({ outcome: 'completed' })
  expect(ran.splice(0)).toEqual(['{"what":"x"}'])
})

test('where nobody can be asked, the tool is refused at once', async () => {
  const w = await world({ agents: { coder: careful }, tools: [danger] })
  expect((await w.run('coder', 'x')).output).toContain('nobody can be asked here')
  expect(await w.exchange.questions()).toEqual([])
})

test('a run with a question replays without asking anybody', async () => {
  const w = await world({ agents: { coder: careful }, tools: [danger], asks: true })
  const run = w.ask('coder', 'x')
  await w.rest()
  await w.exchange.answer((await w.exchange.questions())[0]?.id ?? '', 'allow')
  await w.until(run)
  ran.length = 0
  const sent = (await w.events('message.sent'))[0]?.event
  expect(await replayed(w, sent?.flow ?? '')).toMatchObject({ equal: true, difference: null })
  expect(ran).toEqual([])
})

test('a question that was answered while nobody ran its turn is not asked again', async () => {
  const w = await world({ agents: { coder: careful }, tools: [danger], asks: true })
  const run = w.ask('coder', 'x')
  void run.then(undefined, () => undefined)
  await w.rest()
  const id = (await w.exchange.questions())[0]?.id ?? ''
  const { runtime } = w.node
  runtime.stopping.abort(new Error('killed'))
  runtime.alarm.stop()
  runtime.running.clear()
  await w.exchange.answer(id, 'allow')
  await w.addNode()
  await w.pass(9000)
  expect(ran.splice(0)).toEqual(['{"what":"x"}'])
  expect((await w.events('question.asked')).length).toBe(1)
  expect((await w.events('turn.ended')).map(({ event }) => event.outcome)).toEqual(['completed'])
})
