import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { fakeModel, type FakeRule } from '../../../test/kits/fake-model.ts'
import { openLine } from '../../open-line.ts'

async function offered(tools: readonly string[], rules: FakeRule[]): Promise<string[][]> {
  const fake = await fakeModel([...rules, { when: {}, text: 'done' }])
  onTestFinished(() => fake.close())
  const place = mkdtempSync(join(tmpdir(), 'tieline-offered-'))
  onTestFinished(() => rmSync(place, { recursive: true, force: true }))
  const config = join(place, 'tieline.json')
  const settings = {
    providers: { fake: { kind: 'openai-compatible', baseURL: fake.url } },
    agents: {
      boss: { prompt: 'boss', model: 'fake/m', tools, allowSubAgentCalls: true },
      worker: { prompt: 'worker', driver: 'scripted', script: [{ say: 'word '.repeat(9000) }] },
    },
  }
  writeFileSync(config, JSON.stringify(settings))
  await using line = await openLine({ config, dataDir: join(place, 'data'), cwd: place })
  await line.run('boss', 'go')
  return fake.requests.map(({ body }) =>
    ((body['tools'] ?? []) as { function: { name: string } }[]).map((tool) => tool.function.name),
  )
}

const call = (input: object): FakeRule => ({
  when: { system: 'boss', results: 0 },
  tools: [{ name: 'sub_agent', input: { agent_name: 'worker', task: 'go', ...input } }],
})

test('wait_for_call and read_output are offered once a call goes on in the background', async () => {
  expect(await offered(['sub_agent'], [call({ background: true })])).toEqual([
    ['sub_agent'],
    ['sub_agent', 'wait_for_call', 'read_output'],
  ])
})

test('read_output is offered once a result was cut, and nothing more where a call was refused', async () => {
  const cut = await offered(['sub_agent'], [call({})])
  expect(cut).toEqual([['sub_agent'], ['sub_agent', 'wait_for_call', 'read_output']])
  expect(await offered(['sub_agent'], [call({ agent_name: 'nobody' })])).toEqual([
    ['sub_agent'],
    ['sub_agent'],
  ])
})

test('where the agent lists them itself they are offered from the start', async () => {
  const [first] = await offered(['sub_agent', 'wait_for_call'], [])
  expect(first).toEqual(['sub_agent', 'wait_for_call'])
})
