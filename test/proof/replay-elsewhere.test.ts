/** An export replays where nobody has the configuration, and says what it could not carry. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openLog } from '../../src/index.ts'
import { openLine } from '../../src/open-line.ts'
import { readExport } from '../../src/runtime/look/export-log.ts'
import { fakeModel } from '../kits/fake-model.ts'

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), 'tieline-elsewhere-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

const config = (url: string): string =>
  JSON.stringify({
    providers: { fake: { kind: 'openai-compatible', baseURL: url } },
    limits: { contextTokens: 3000 },
    tools: { locked: { 'list-session': { dir: '.' } } },
    agents: {
      boss: {
        prompt: 'You are the boss.',
        model: 'fake/m',
        tools: ['sub_agent', 'list-session'],
        allowSubAgentCalls: true,
      },
      worker: { prompt: 'You are the worker.', description: 'Works', model: 'fake/m' },
      idle: { prompt: 'A prompt that is nobody else’s business.', description: 'Rests', model: 'fake/m' },
    },
  })

test('a flow that used include_summary replays from its export alone, without the configuration', async () => {
  const fake = await fakeModel([
    { when: { system: 'boss', results: 1 }, text: 'all done' },
    {
      when: { system: 'boss' },
      tools: [
        {
          name: 'sub_agent',
          input: { agent_name: 'worker', task: 'a part', context: { include_summary: true } },
        },
      ],
    },
    { when: {}, text: 'as you like' },
  ])
  onTestFinished(() => fake.close())
  const place = directory()
  const file = join(place, 'tieline.json')
  writeFileSync(file, config(fake.url))
  const line = await openLine({ config: file, dataDir: join(place, 'data'), cwd: place })
  const first = await line.run('boss', 'warm up')
  const { flow, success } = await line.run('boss', 'go', { session: first.session ?? '' })
  expect(success).toBe(true)
  const { header, text } = await line.log.export(flow ?? '')
  await line.close()
  const requests = fake.requests.length
  expect(header.setup).toMatchObject({ missing: [], limits: { contextTokens: 3000 } })
  expect(text).not.toContain('nobody else’s business')

  const there = directory()
  const other = await openLog({ dataDir: join(there, 'data'), from: text })
  expect(await other.replay(flow ?? '')).toMatchObject({ equal: true, difference: null })
  await other.close()
  // The configuration stays with the imported log, and no other one changes what is compared.
  const again = await openLog({ dataDir: join(there, 'data') })
  expect(await again.replay(flow ?? '')).toMatchObject({ equal: true })
  await again.close()
  expect(fake.requests.length).toBe(requests)
})

test('an export says which agents and tools only code can give', async () => {
  const place = directory()
  await using line = await openLine({
    agents: { coded: { script: () => 'hello' }, rules: { script: [{ say: 'hi' }] } },
    dataDir: join(place, 'data'),
  })
  const { flow } = await line.run('coded', 'go')
  const { text } = await line.log.export(flow ?? '')
  expect(readExport(text).header.setup?.missing).toEqual([
    'the agent "coded" is defined in code: replay it with openLog({ agents }) of that program',
  ])
  const ruled = await line.run('rules', 'go')
  const file = (await line.log.export(ruled.flow ?? '')).text
  expect(readExport(file).header.setup?.missing).toEqual([])
  const other = await openLog({ dataDir: ':memory:', from: file })
  expect(await other.replay(ruled.flow ?? '')).toMatchObject({ equal: true })
  await other.close()
})
