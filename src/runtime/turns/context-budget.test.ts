/** R8: what a child is given fits its budget to the token, and what was left out is told. */
import { expect, test } from 'vitest'
import { valueOf, world, type World } from '../../../test/kits/world.ts'
import type { ScriptedFunction } from '../../adapters/scripted/run-function.ts'

/** Answers everything, and on `call {…}` calls the child with that, as often as it says. */
const boss: ScriptedFunction = async (turn) => {
  if (!turn.task.startsWith('call ')) return `answer to ${turn.task}`
  const { times = 1, ...input } = JSON.parse(turn.task.slice(5)) as { times?: number }
  const answers = await Promise.all(
    Array.from({ length: times }, () =>
      turn.tool('sub_agent', { agent_name: 'child', task: 'look', ...input }),
    ),
  )
  return answers.map((answer) => String(valueOf(answer)['outcome'])).join()
}

async function talk(tasks: readonly string[], options: Partial<Parameters<typeof world>[0]> = {}) {
  const w = await world({
    agents: { boss: { script: boss }, child: { prompt: 'You are the child.', tools: [] } },
    ...options,
  })
  let session: `ses_${string}` | undefined
  const say = async (task: string) => {
    const result = await w.run('boss', task, session === undefined ? {} : { session })
    session = result.session as `ses_${string}`
    return result
  }
  for (const task of tasks) await say(task)
  return { w, say, call: (input: object) => say(`call ${JSON.stringify(input)}`) }
}

const lastContext = async (w: World) => (await w.events('call.opened')).at(-1)?.event.context

test('R8: a summary counts: a context of exactly its budget passes, and one token less is refused', async () => {
  const asked = { context: { include_summary: true } }
  const first = await talk(['a question about parsers'])
  await first.call(asked)
  const { tokens = 0, parts = {} } = (await lastContext(first.w)) ?? {}
  expect(parts['summary']).toBeGreaterThan(5)
  const exact = await talk(['a question about parsers'])
  expect((await exact.call({ ...asked, max_context_tokens: tokens })).output).toBe('completed')
  const short = await talk(['a question about parsers'])
  expect((await short.call({ ...asked, max_context_tokens: tokens - 1 })).output).toBe('refused')
  expect((await short.w.events('call.refused'))[0]?.event.refusal).toMatchObject({
    code: 'context_too_large',
    tokens,
    tokensMax: tokens - 1,
  })
})

test('R7: a summary is charged, and calls at the same time share one', async () => {
  let written = 0
  const { w, call } = await talk(['a question'], {
    summarise: async () => {
      written += 1
      await Promise.resolve()
      return { text: 'in short', usage: { input: 70, output: 7, estimated: false } }
    },
  })
  const { output, tokensUsed } = await call({ times: 3, context: { include_summary: true } })
  expect(output).toBe('completed,completed,completed')
  expect(written).toBe(1)
  expect(tokensUsed).toBeGreaterThanOrEqual(77)
  expect((await lastContext(w))?.summary).toBe('in short')
})

test('R8: messages with what their tools did fit too, and each that does not is counted', async () => {
  const { w, call } = await talk(['alpha'])
  for (const task of ['one', 'two', 'three']) await call({ task: `${task} `.repeat(60) })
  const passed = new Set<number>()
  for (let tokensMax = 30; tokensMax < 260; tokensMax += 10) {
    await call({ context: { roles: ['assistant', 'tool'] }, max_context_tokens: tokensMax })
    const context = await lastContext(w)
    const messages = context?.messages
    expect(context?.tokens).toBeLessThanOrEqual(tokensMax)
    const dropped = Object.values(messages?.dropped ?? {}).reduce((sum, count) => sum + count, 0)
    expect((messages?.passed.length ?? 0) + dropped).toBe(messages?.total)
    passed.add(messages?.passed.length ?? 0)
  }
  expect(passed.size).toBeGreaterThan(1)
})

test('R8: the frames of messages by others count too', async () => {
  const w = await world({
    agents: {
      outer: {
        script: async (turn) =>
          String(valueOf(await turn.tool('call_agent', { agent_id: 'boss', message: turn.task }))['output']),
      },
      boss: { script: boss },
      child: { prompt: 'You are the child.', tools: [] },
    },
  })
  for (const task of ['one', 'two', 'three', 'four']) await w.run('outer', task)
  const passed = new Set<number>()
  for (let tokensMax = 40; tokensMax < 140; tokensMax += 4) {
    await w.run(
      'outer',
      `call ${JSON.stringify({ context: { roles: ['user'], keywords: ['o', 'w'] }, max_context_tokens: tokensMax })}`,
    )
    const context = await lastContext(w)
    expect(context?.tokens).toBeLessThanOrEqual(tokensMax)
    passed.add(context?.messages?.passed.length ?? 0)
  }
  expect(passed.size).toBeGreaterThan(1)
})
