import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { tieline, type RunResult, type Tieline } from '../../src/index.ts'
import { fakeModel, type FakeModel, type FakeRule } from '../kits/fake-model.ts'

/** The whole thing as a user has it: a configuration, a provider behind HTTP, and a data directory. */
async function setup(rules: FakeRule[]): Promise<{ line: Tieline; fake: FakeModel; directory: string }> {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-model-'))
  const fake = await fakeModel(rules)
  process.env['TIELINE_TEST_KEY'] = 'dummy'
  writeFileSync(
    join(directory, 'tieline.toml'),
    `
[providers.fake]
kind = "openai-compatible"
baseURL = "${fake.url}"
apiKeyEnv = "TIELINE_TEST_KEY"

[agents.boss]
prompt = "You are the boss."
model = "fake/m"
tools = ["sub_agent"]
allowSubAgentCalls = true

[agents.child]
prompt = "You are the child."
model = "fake/m"
`,
  )
  const line = await tieline({
    config: join(directory, 'tieline.toml'),
    dataDir: join(directory, 'data'),
    cwd: directory,
  })
  onTestFinished(async () => {
    await line.close()
    await fake.close()
    rmSync(directory, { recursive: true, force: true })
  })
  return { line, fake, directory }
}

const handOver = (input: object = {}): FakeRule => ({
  when: { system: 'boss', results: 0 },
  tools: [{ name: 'sub_agent', input: { agent_name: 'child', task: 'work', ...input } }],
})

test('a delegation through a real provider wire, from a configuration file', async () => {
  const { line, fake } = await setup([
    handOver(),
    { when: { system: 'child' }, text: 'child says so' },
    { when: { system: 'boss', result: 'child says so' }, text: 'all done' },
  ])
  const result: RunResult = await line.run('boss', 'go')
  expect(result).toMatchObject({ success: true, output: 'all done' })
  expect(fake.requests.length).toBe(3)
})

test('a child whose provider stalls: the caller is back at the deadline, and no request stays open', async () => {
  const { line, fake } = await setup([
    handOver({ timeout_seconds: 1 }),
    { when: { system: 'child' }, text: 'one two three four five six', hang: 'middle' },
    { when: { system: 'boss' }, text: 'went on without it' },
  ])
  const result = await line.run('boss', 'go')
  expect(result.output).toBe('went on without it')
  await fake.settled()
  const shown = JSON.stringify(fake.requests.at(-1)?.body)
  expect(shown).toContain('timed_out')
  expect(shown).toMatch(/\\"output\\":\\"one/)
})

test('cancel of a run aborts the request of its child', async () => {
  const { line, fake } = await setup([handOver(), { when: { system: 'child' }, hang: 'before' }])
  const run = line.run('boss', 'go')
  while (fake.requests.length < 2) await new Promise((resolve) => setTimeout(resolve, 5))
  expect(await run.cancel()).toBe(true)
  await fake.settled()
  expect((await run).outcome).toBe('cancelled')
  expect(fake.requests.at(-1)?.abandoned).toBe(true)
})

test.each([
  [{ status: 401, errorText: 'bad key' }, 'provider_error: 401'],
  [{ garbage: true }, 'provider_'],
  [{ empty: true }, 'empty_output'],
  [{ cut: 'connection' as const }, 'provider_'],
])('a provider that gives %o is a failure with its cause, never an empty success', async (fault, cause) => {
  const { line, fake } = await setup([
    handOver({ timeout_seconds: 20 }),
    { when: { system: 'child' }, ...fault },
    { when: { system: 'boss' }, text: 'saw it' },
  ])
  expect((await line.run('boss', 'go')).output).toBe('saw it')
  const shown = JSON.stringify(fake.requests.at(-1)?.body)
  expect(shown).toContain('\\"success\\":false')
  expect(shown).toContain(cause)
})

test('two processes cannot have one data directory: the second is told what to do', async () => {
  const { directory } = await setup([])
  await expect(tieline({ dataDir: join(directory, 'data') })).rejects.toThrow(
    'in use by another Tieline process',
  )
})
