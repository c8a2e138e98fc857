/** A leave for a whole session: what it answers, and what it does not. */
import { expect, test } from 'vitest'
import { world, type World } from '../../../test/kits/world.ts'
import type { Tool } from '../kernel/ports.ts'
import { answerQuestion, askPerson } from './question.ts'

const tool = (name: string): Tool => ({
  name,
  effect: 'write',
  calling: false,
  describe: () => ({ name, description: '', input: {} }),
  run: async () => ({ ok: true, value: 'done' }),
})

/** Uses tools one after the other, or all at once. */
const asking = (uses: readonly string[], atOnce: boolean): Promise<World> =>
  world({
    agents: {
      a: {
        ask: ['danger', 'other'],
        script: async (turn) => {
          const use = async (name: string, n: number) => (await turn.tool(name, { n })).value
          if (atOnce) return JSON.stringify(await Promise.all(uses.map(use)))
          const answers = []
          for (const [n, name] of uses.entries()) answers.push(await use(name, n))
          return JSON.stringify(answers)
        },
      },
    },
    tools: [tool('danger'), tool('other')],
    asks: true,
  })

const open = async (w: World) =>
  (await w.store.lists.openQuestions()).flatMap(({ event }) =>
    event.type === 'question.asked' ? [event] : [],
  )

test('a leave for the session answers what waits about the same tool, and nothing about another', async () => {
  const w = await asking(['danger', 'danger', 'other'], true)
  const run = w.ask('a', 'go')
  await w.rest()
  const first = (await open(w)).find((event) => event.tool === 'danger')
  await answerQuestion(w.node.runtime, first?.question ?? '', { answer: 'allow', scope: 'session' }, 'user')
  expect((await open(w)).map((event) => event.tool)).toEqual(['other'])
  const [other] = await open(w)
  await answerQuestion(w.node.runtime, other?.question ?? '', { answer: 'deny', reason: 'too risky' }, 'user')
  const { output } = await w.until(run)
  expect(JSON.parse(output)).toMatchObject([
    'done',
    'done',
    { error: { code: 'tool_disabled', message: expect.stringContaining('too risky') as string } },
  ])
})

test('a leave for the session is not asked for again, and the record reads like any other', async () => {
  const w = await asking(['danger', 'danger', 'other'], false)
  const run = w.ask('a', 'go')
  await w.rest()
  const [first] = await open(w)
  await answerQuestion(w.node.runtime, first?.question ?? '', { answer: 'allow', scope: 'session' }, 'user')
  await w.rest()
  expect((await open(w)).map((event) => event.tool)).toEqual(['other'])
  expect((await w.events('question.answered')).map(({ event }) => event.by)).toEqual([
    'user',
    'user, for this session',
  ])
  const [other] = await open(w)
  await answerQuestion(w.node.runtime, other?.question ?? '', { answer: 'allow' }, 'user')
  expect((await w.until(run)).output).toBe('["done","done","done"]')
})

test('a question is due a little before its turn, so that the turn can still use the answer', async () => {
  const w = await asking(['danger'], false)
  const run = w.ask('a', 'go', { timeoutMs: 10_000 })
  await w.rest()
  const deadline = (await w.events('turn.started'))[0]?.event.deadline ?? 0
  expect((await open(w)).map((event) => deadline - event.deadline)).toEqual([500])
  expect((await w.until(run)).outcome).toBe('completed')
})

test('a turn that is stopped while it waits for a person ends at once', async () => {
  const w = await asking(['danger'], false)
  const run = w.ask('a', 'go')
  await w.rest()
  const at = w.clock.elapsed()
  expect(await run.cancel('enough')).toBe(true)
  expect(await w.until(run)).toMatchObject({ outcome: 'cancelled' })
  expect(w.clock.elapsed() - at).toBeLessThan(1000)
})

test('an answer that comes at the moment of the deadline counts', async () => {
  const w = await asking(['danger'], false)
  const { runtime } = w.node
  const run = w.ask('a', 'go', { timeoutMs: 10_000 })
  await w.rest()
  const { lists } = runtime
  const find = lists.question.bind(lists)
  // The deadline is about to say no, and somebody is quicker.
  lists.question = async (question) => {
    lists.question = find
    await answerQuestion(runtime, question, { answer: 'allow' }, 'user')
    return find(question)
  }
  expect((await w.until(run)).output).toBe('["done"]')
  expect((await w.events('question.answered')).map(({ event }) => event.by)).toEqual(['user'])
})

test('whoever asks a person in the name of a turn hears at once that the turn was stopped', async () => {
  const w = await asking(['danger'], false)
  void w.ask('a', 'go')
  await w.rest()
  const [running] = w.node.runtime.running.values()
  if (running === undefined) throw new Error('nothing runs')
  let said: unknown = null
  const asked = askPerson(w.node.runtime, running, 'other', {}, 'key')
  void asked.catch((reason: unknown) => (said = reason))
  await w.rest()
  expect(said).toBeNull()
  const stopped = new Error('stopped')
  running.abort.abort(stopped)
  await w.rest()
  expect(said).toBe(stopped)
})
