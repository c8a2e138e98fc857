import { expect, test } from 'vitest'
import { listPackages } from './adapters/model/providers.ts'
import { Agent } from './model/agent.ts'
import { testClock } from '../test/kits/turns.ts'
import { nextRound } from './runtime/kernel/next-round.ts'
import { listHeavy, warmUp } from './warm-up.ts'

const agent = (name: string, model?: string): Agent =>
  Agent.parse({ name, ...(model === undefined ? {} : { model }) })

test('heavy parts are loaded one by one, with a pause after each, also behind one that is missing', async () => {
  const clock = testClock(1)
  const loaded: string[] = []
  const load = (name: string) => async () => void loaded.push(name)
  const parts = [load('first'), () => Promise.reject(new Error('not installed')), load('last')]
  const done = warmUp(parts, clock, new AbortController().signal)
  expect(loaded).toEqual([])
  const pass = async (): Promise<void> => {
    clock.pass(250)
    await nextRound()
  }
  await pass()
  expect(loaded).toEqual(['first'])
  for (let n = 0; n < 3; n += 1) await pass()
  await done
  expect(loaded).toEqual(['first', 'last'])
})

test('a server that leaves loads nothing more', async () => {
  const clock = testClock(1)
  const leaving = new AbortController()
  const loaded: string[] = []
  const done = warmUp([async () => void loaded.push('late')], clock, leaving.signal)
  leaving.abort()
  await done
  expect(loaded).toEqual([])
})

test('the packages are those of the models that agents use, each once, and none that has no provider', async () => {
  const agents = [
    agent('a', 'mine/one'),
    agent('b', 'mine/two'),
    agent('c', 'anthropic/x'),
    agent('d', 'google/x'),
    agent('e', '__proto__/x'),
    agent('f'),
  ]
  const mine = { mine: { kind: 'openai-compatible' as const, baseURL: 'http://127.0.0.1:1' } }
  const packages = listPackages(agents, mine, { ANTHROPIC_API_KEY: 'k' })
  const loaded = await Promise.all(packages.map((load) => load()))
  expect(
    loaded.map((found) => Object.keys(found as object).find((name) => name.startsWith('create'))),
  ).toEqual(['createOpenAICompatible', 'createAnthropic'])
  expect(listPackages(agents, {}, {})).toEqual([])
})

test('what drives agents, and what speaks to their servers, is loaded where one of them needs it', async () => {
  const load = (...agents: Agent[]) => {
    const book = new Map(agents.map((one) => [one.name, one]))
    return listHeavy({ names: () => [...book.keys()], get: (name) => book.get(name) }, {}, {})
  }
  const plain = load(agent('a'))
  const driven = load(agent('a'), Agent.parse({ name: 'b', driver: 'acp', command: ['b'] }))
  const served = load(Agent.parse({ name: 'c', mcpServers: { s: { command: 's' } } }))
  expect([driven.length, served.length]).toEqual([plain.length + 1, plain.length + 1])
  expect(await driven.at(-1)?.()).toHaveProperty('openConversation')
  expect(await served.at(-1)?.()).toHaveProperty('mcpTools')
})
