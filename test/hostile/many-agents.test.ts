/** Agents made by API are bounded in number and size, and so is what every tool says of them. */
import { exchangeOf } from '../kits/askers.ts'
import { expect, onTestFinished, test } from 'vitest'
import { lettaDoor } from '../../src/adapters/letta/serve.ts'
import { systemClock } from '../../src/runtime/kernel/system-clock.ts'
import { systemIds } from '../../src/runtime/kernel/system-ids.ts'
import { openLine } from '../../src/open-line.ts'
import { askAt, expectNo, serve } from '../kits/http.ts'
import { whoMayBeCalled } from '../../src/tools/calling.ts'
import type { TurnContext } from '../../src/runtime/kernel/ports.ts'

async function served(agentsMadeMax: number) {
  const line = await openLine({
    limits: { agentsMadeMax },
    agents: { echo: { description: 'says it again', script: ({ task }) => task } },
  })
  onTestFinished(() => line.close())
  const door = lettaDoor({
    desks: line.desks,
    clock: systemClock,
    ids: systemIds(() => systemClock.now()),
  })
  const { url } = await serve({ desks: line.desks, doors: [door] })
  const make = (body: object, key?: string) =>
    askAt(url, 'POST', '/v1/agents', body, key === undefined ? {} : { 'idempotency-key': key })
  return { line, url, make }
}

test('agents made by API are refused beyond the limit; a deleted one makes room, a retry finds its own', async () => {
  const { url, make } = await served(20)
  const first = await make({ name: 'first' }, 'the-first')
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, index) => make({ name: `agent ${index}` })),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(19)
  for (const answer of answers.filter(({ status }) => status !== 200))
    expectNo(answer, 429, 'too_many_agents')
  expect(await make({ name: 'first' }, 'the-first')).toMatchObject({
    status: 200,
    body: { id: first.body.id as string },
  })
  expect((await askAt(url, 'DELETE', `/v1/agents/${String(first.body.id)}`)).status).toBe(200)
  expect((await make({ name: 'another' })).status).toBe(200)
  expectNo(await make({ name: 'one more' }), 429, 'too_many_agents')
})

test('as many as may be are made, however many ask in the same moment', async () => {
  const { line } = await served(5)
  const ask = { description: '', system: '', model: null, tools: null, id: null }
  const made = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      exchangeOf(line.desks).createAgent({ ...ask, name: `agent ${index}` }),
    ),
  )
  expect(made.filter((one) => !('code' in one))).toHaveLength(5)
})

test('an agent of a connected program counts too', async () => {
  const { line } = await served(1)
  const ask = { description: '', tools: [] }
  expect(await exchangeOf(line.desks).hostAgent({ ...ask, name: 'one' })).toMatchObject({ name: 'one' })
  expect(
    await exchangeOf(line.desks).hostAgent({ ...ask, name: 'one', description: 'changed' }),
  ).toMatchObject({
    description: 'changed',
  })
  expect(await exchangeOf(line.desks).hostAgent({ ...ask, name: 'two' })).toMatchObject({
    code: 'too_many_agents',
  })
})

test('names, descriptions, prompts and lists of tools that are too long are refused by name', async () => {
  const { make } = await served(20)
  const long = 'x'.repeat(40_000)
  expectNo(await make({ name: long }), 400, 'bad_input', 'name')
  expectNo(await make({ name: 'a', description: long }), 400, 'bad_input', 'description')
  expectNo(await make({ name: 'a', model: long }), 400, 'bad_input', 'model')
  expectNo(await make({ name: 'a', system: long }), 413, 'too_large', 'system')
  expectNo(
    await make({ name: 'a', memory_blocks: [{ label: 'b', value: long }] }),
    413,
    'too_large',
    'system',
  )
  expectNo(
    await make({ name: 'a', tools: Array.from({ length: 1000 }, () => 'call_agent') }),
    400,
    'bad_input',
    'tools',
  )
})

test('a thousand agents do not make the descriptions of the tools longer than forty do', async () => {
  const { line } = await served(1000)
  const create = (index: number) =>
    exchangeOf(line.desks).createAgent({
      name: `agent ${index} ${'n'.repeat(150)}`,
      description: 'd'.repeat(2000),
      system: '',
      model: null,
      tools: null,
      id: null,
    })
  for (let index = 0; index < 1000; index += 100)
    await Promise.all(Array.from({ length: 100 }, (_, more) => create(index + more)))
  const callable = line.book.names().flatMap((name) => line.book.get(name) ?? [])
  const text = whoMayBeCalled({ callable, session: { id: 'ses_1' } } as unknown as TurnContext)
  expect(text.length).toBeLessThan(30_000)
  expect(text).toContain('echo (says it again)')
  expect(text).toContain('agent 999 ')
  expect(text).toContain('and 961 more, which you can call by their names too')
  const unknown = await exchangeOf(line.desks).agent('nobody')
  expect(JSON.stringify(unknown).length).toBeLessThan(3000)
}, 60_000)
