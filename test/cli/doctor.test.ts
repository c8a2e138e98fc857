import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { cli, matchLines, patience, project, start } from '../kits/cli.ts'
import { fakeModel } from '../kits/fake-model.ts'

vi.setConfig(patience)

test('doctor finds what is wrong and says what to do, with exit code 1', async () => {
  const { cwd } = project({
    agents: {
      a: { model: 'acme/x' },
      b: { model: 'openai/gpt' },
      c: { driver: 'scripted', script: [{ say: 'x' }] },
      d: { model: 'local/x' },
    },
    providers: {
      local: { kind: 'openai-compatible', baseURL: 'http://127.0.0.1:1/v1', apiKeyEnv: 'LOCAL_KEY' },
    },
  })
  const { code, out } = await start(cwd, ['doctor'], {
    OPENAI_API_KEY: '',
    ANTHROPIC_API_KEY: 'sk-secret-value',
  }).ended
  expect(code).toBe(1)
  expect(out).toMatch(/^problem +agents +a: there is no provider "acme"\n +→ Add \[providers\.acme\]/m)
  expect(out).toMatch(/^problem +agents +b: openai\/gpt needs a key\n +→ Set OPENAI_API_KEY/m)
  expect(out).toMatch(/^ok +agents +c: scripted$/m)
  expect(out).toMatch(/^ok +keys +set: ANTHROPIC_API_KEY$/m)
  expect(out).toMatch(/^warning +keys +providers\.local: LOCAL_KEY is not set/m)
  expect(out).toMatch(
    matchLines(
      /^problem +providers +local: nothing listens at http:\/\/127\.0\.0\.1:1\/v1/m,
      / +→ Start the server of the models there/,
    ),
  )
  expect(out).not.toContain('sk-secret-value')
})

test('doctor finds a wrong configuration, a tool that does not exist, and a log that was emptied', async () => {
  const wrong = project({ agnets: {} })
  expect(await cli(wrong.cwd, 'doctor')).toMatchObject({
    code: 1,
    out: expect.stringContaining('agnets: unknown key; the nearest known one is "agents"') as unknown,
  })
  const tools = project({ agents: { a: { driver: 'scripted', tools: ['raed'], script: [] } } })
  expect(await cli(tools.cwd, 'doctor')).toMatchObject({
    code: 1,
    out: expect.stringContaining('there is no tool "raed"') as unknown,
  })
  const rule = project({
    agents: { a: { driver: 'scripted', script: [{ say: 'x' }, { when: { tsak: 'x' }, say: 'y' }] } },
  })
  expect(await cli(rule.cwd, 'run', 'x')).toMatchObject({
    code: 1,
    err: expect.stringContaining(
      'agents.a.script[1].when.tsak: unknown key; the nearest known one is "task".',
    ) as unknown,
  })
  const emptied = project()
  mkdirSync(emptied.data)
  writeFileSync(join(emptied.data, 'tieline.db'), '')
  expect(await cli(emptied.cwd, 'doctor')).toMatchObject({
    code: 1,
    out: expect.stringMatching(/^problem +log +.*empty file/m) as unknown,
  })
  expect(await cli(emptied.cwd, 'calls')).toMatchObject({
    code: 2,
    err: expect.stringContaining('is empty (0 bytes)') as unknown,
  })
  expect(await cli(emptied.cwd, 'run', 'tea')).toMatchObject({
    code: 0,
    err: expect.stringContaining('is empty (0 bytes)') as unknown,
  })
})

test('doctor and serve let unknown models pass: now they name the nearest that the provider has', async () => {
  const fake = await fakeModel([{ when: {}, text: 'hi' }])
  onTestFinished(() => fake.close())
  const { cwd } = project({
    agents: { a: { model: 'local/fak' }, b: { model: 'local/fake' } },
    providers: { local: { kind: 'openai-compatible', baseURL: fake.url } },
  })
  const { code, out } = await cli(cwd, 'doctor')
  expect(code).toBe(0)
  expect(out).toMatch(/^warning +agents +a: local has no model "fak"; the nearest known one is "fake"$/m)
  expect(out).not.toMatch(/ b: local has no model/)
  const server = start(cwd, ['serve', '--json'])
  await server.says('"url"')
  await expect
    .poll(() => server.err(), { timeout: 20_000 })
    .toContain('agents.a.model: local has no model "fak"')
  server.child.kill('SIGTERM')
  await server.ended
})

test('doctor and serve let wrong values of tools pass: now both name them', async () => {
  const { cwd } = project({
    agents: { a: { driver: 'scripted', script: [{ say: 'x' }] } },
    tools: { enable: ['*', 'bufer'], defaults: { 'send-message': { draft: 'yes' } } },
  })
  for (const command of ['doctor', 'serve']) {
    const { code, out, err } = await cli(cwd, command)
    expect(code).toBe(1)
    expect(out + err).toContain(
      'tools.enable[1]: there is no tool "bufer"; the nearest known one is "buffer".',
    )
    expect(out + err).toContain(
      'tools.defaults.send-message.draft: "yes" was given, but true or false is needed.',
    )
  }
})

test('doctor finds the OpenCode plugin, and an MCP entry beside it', async () => {
  const { cwd } = project()
  writeFileSync(join(cwd, 'opencode.json'), '{ "plugin": ["tieline"] }')
  expect((await cli(cwd, 'doctor')).out).toMatch(/^ok +clients +OpenCode: it has our plugin/m)
  writeFileSync(join(cwd, 'opencode.json'), '{ "plugin": ["tieline"], "mcp": { "tieline": {} } }')
  expect((await cli(cwd, 'doctor')).out).toMatch(/^warning +clients +OpenCode: .* every tool is there twice/m)
})
