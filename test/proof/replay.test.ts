import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { readArguments } from '../../src/cli/arguments.ts'
import { UsageError } from '../../src/cli/command.ts'
import { commands } from '../../src/cli/commands.ts'
import { renderHelp } from '../../src/cli/help.ts'
import { type ScriptedTurn, type Tool, openLog } from '../../src/index.ts'
import { openLine } from '../../src/open-line.ts'
import { viewsEqual } from '../../src/store/rebuild.ts'
import { sqliteStore } from '../../src/store/sqlite.ts'
import { fakeModel } from '../kits/fake-model.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), 'tieline-replay-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

type Said = { code: number; out: string; err: string }

/** A command in this process, with absolute paths, as `main.ts` would run it. */
async function cli(place: string, ...args: string[]): Promise<Said> {
  const said: Said = { code: 0, out: '', err: '' }
  const terminal = (stream: 'out' | 'err') => ({
    write: (text: string) => (said[stream] += text),
    columns: 100,
    on: () => undefined,
    off: () => undefined,
  })
  const asked = readArguments(['--config', join(place, 'tieline.json'), ...args], commands)
  if (asked.kind !== 'run') throw new Error(`asked for ${asked.kind}`)
  try {
    said.code = await asked.command.run({
      words: asked.words,
      flags: asked.flags,
      env: {},
      out: terminal('out'),
      err: terminal('err'),
      signal: new AbortController().signal,
    })
  } catch (error) {
    said.code = error instanceof UsageError ? 2 : 1
    said.err = (error as Error).message
  }
  return said
}

/** A command as a process of its own. */
async function processOf(cwd: string, ...args: string[]): Promise<Said> {
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [main, ...args], { cwd })
    return { code: 0, out: stdout, err: stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, out: stdout, err: stderr }
  }
}

const key = `sk-${'abcdefgh'.repeat(4)}`

const mark = (runs: string[]): Tool => ({
  name: 'mark',
  effect: 'write',
  calling: false,
  describe: () => ({ name: 'mark', description: 'Marks', input: { type: 'object', properties: {} } }),
  run: async () => {
    runs.push('mark')
    return { ok: true, value: { marked: runs.length, apiKey: key } }
  },
})

test('a delegation on a model behind HTTP is replayed, exported without secrets, and replayed elsewhere', async () => {
  const call = (n: number) => ({
    name: 'sub_agent',
    input: { agent_name: 'worker', task: `part ${n}`, context: { last_messages: 2 } },
  })
  const fake = await fakeModel([
    { when: { system: 'boss', results: 2 }, text: 'all parts done' },
    { when: { system: 'boss' }, tools: [call(1), call(2)] },
    { when: { system: 'worker', results: 1 }, text: `the key is ${key}` },
    { when: { system: 'worker' }, tools: [{ name: 'mark', input: {} }] },
  ])
  onTestFinished(() => fake.close())
  process.env['FAKE_KEY'] = 'dummy'
  const place = directory()
  const config = join(place, 'tieline.json')
  writeFileSync(
    config,
    JSON.stringify({
      providers: { fake: { kind: 'openai-compatible', baseURL: fake.url, apiKeyEnv: 'FAKE_KEY' } },
      agents: {
        boss: {
          prompt: 'You are the boss.',
          model: 'fake/m',
          tools: ['sub_agent'],
          allowSubAgentCalls: true,
        },
        worker: { prompt: 'You are the worker.', model: 'fake/m', tools: ['mark'] },
      },
    }),
  )
  const runs: string[] = []
  const line = await openLine({ config, dataDir: join(place, 'data'), tools: [mark(runs)], cwd: place })
  const first = await line.run('boss', 'warm up')
  const result = await line.run('boss', 'go', { session: first.session ?? '' })
  expect(result.success).toBe(true)
  const [requests, marks] = [fake.requests.length, runs.length]
  const flow = result.flow ?? ''
  const live = await line.log.replay(flow)
  expect(live).toMatchObject({ equal: true, difference: null })
  const { header, text } = await line.log.export(flow)
  await line.close()

  expect([fake.requests.length, runs.length]).toEqual([requests, marks])
  expect(text).not.toContain(key)
  expect(text).toContain('[redacted]')
  expect(header).toMatchObject({ of: flow, turns: 3, contextTurns: 1, redacted: 1, format: 2 })

  const hashes: string[] = []
  for (const name of ['one', 'two']) {
    const other = await openLog({ dataDir: join(place, name), from: text, config })
    const again = await other.replay(flow)
    expect(again).toMatchObject({ equal: true, difference: null, events: live.events })
    hashes.push(again.hash)
    await other.close()
    const store = sqliteStore({ directory: join(place, name), now: Date.now })
    expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
    await store.close()
  }
  expect(new Set(hashes).size).toBe(1)
  expect([fake.requests.length, runs.length]).toEqual([requests, marks])
})

test('on the command line: list, replay, explain, export, import and replay again elsewhere', async () => {
  const place = directory()
  const rules = (n: number) => ({
    when: { iteration: 1 },
    tools: [{ name: 'sub_agent', input: { agent_name: 'helper', task: `part ${n}` } }],
  })
  writeFileSync(
    join(place, 'tieline.json'),
    JSON.stringify({
      server: { dataDir: './data' },
      agents: {
        boss: {
          driver: 'scripted',
          tools: ['sub_agent'],
          allowSubAgentCalls: true,
          script: [rules(1), { say: 'it is {{result.output}}' }],
        },
        helper: { driver: 'scripted', script: [{ say: 'bonjour' }] },
      },
    }),
  )
  expect(await cli(place, 'calls')).toMatchObject({
    code: 2,
    err: expect.stringContaining('there is no log in'),
  })
  expect(await cli(place, 'run', 'go', '--quiet')).toMatchObject({ code: 0, out: 'it is bonjour\n' })
  const [call] = JSON.parse((await cli(place, 'calls', '--json')).out) as { call: string; flow: string }[]
  const { flow = '' } = call ?? {}
  expect((await cli(place, 'calls')).out).toContain('[boss -> helper] OK (')
  expect((await cli(place, 'sessions')).out).toContain('  helper  made by a call  made ')
  expect((await cli(place, 'flow', flow)).out).toMatch(/✓ boss +go[\s\S]*└─✓ helper +part 1/)
  expect(JSON.parse((await cli(place, 'flow', flow, '--json')).out)).toMatchObject({
    calls: [{ agent: 'helper', output: 'bonjour' }],
  })
  const replayed = await cli(place, 'replay', flow)
  expect(replayed).toMatchObject({
    code: 0,
    out: expect.stringMatching(/Equal: \d+ events of 2 turns\. Hash [0-9a-f]{64}/),
  })
  expect((await cli(place, 'explain', flow)).out).toBe(
    `Nothing of ${flow} is running or waiting. Everything ended with an answer, and nothing was refused.\n`,
  )
  expect(await cli(place, 'replay', 'flow_nope')).toMatchObject({
    code: 2,
    err: `there is no flow "flow_nope" in this log. The newest are ${flow}.`,
  })
  expect(renderHelp(commands, commands.find(({ name }) => name === 'replay') ?? null)).toContain(
    'exit code is 0 if every event is as it was recorded',
  )

  const [file, elsewhere] = [join(place, 'night.jsonl'), join(place, 'elsewhere')]
  expect(await cli(place, 'export', flow, '--out', file)).toMatchObject({
    code: 0,
    out: expect.stringContaining('night.jsonl: '),
  })
  expect((await cli(place, 'export', flow)).out).toBe(readFileSync(file, 'utf8'))
  expect(await cli(place, 'import', file, '--data-dir', elsewhere)).toMatchObject({
    code: 0,
    out: expect.stringContaining(`tieline replay ${flow} --data-dir`),
  })
  expect((await cli(place, 'replay', flow, '--data-dir', elsewhere)).out).toBe(replayed.out)
  expect(await cli(place, 'import', file, '--data-dir', elsewhere)).toMatchObject({
    code: 1,
    err: expect.stringContaining('is not empty'),
  })
  expect(
    await cli(place, 'import', join(place, 'nothing.jsonl'), '--data-dir', join(place, 'new')),
  ).toMatchObject({ code: 2, err: expect.stringContaining('cannot be read') })

  // Rules are not asked in a replay, but limits are part of how a turn runs.
  writeFileSync(
    join(place, 'strict.json'),
    readFileSync(join(place, 'tieline.json'), 'utf8').replace(
      '"allowSubAgentCalls":true',
      '"allowSubAgentCalls":false',
    ),
  )
  const different = await processOf(place, 'replay', flow, '--config', 'strict.json', '--data-dir', 'data')
  expect(different).toMatchObject({ code: 1, out: expect.stringContaining('Different, in turn_') })
  expect(different.out).toMatch(/ {2}type\n {4}recorded: .*call\.opened.*\n {4}replayed: .*call\.refused/)
})

test('a log that another process has open is not touched, and the command says so', async () => {
  const place = directory()
  await using line = await openLine({ agents: { a: { script: () => 'ok' } }, dataDir: join(place, 'data') })
  await line.run('a', 'go')
  writeFileSync(join(place, 'tieline.json'), '{}')
  expect(await cli(place, 'calls', '--data-dir', join(place, 'data'))).toMatchObject({
    code: 1,
    err: expect.stringContaining('is in use by another Tieline process'),
  })
})

test('R10: a run that was interrupted and went on in another process replays as one', async () => {
  const place = directory()
  const runs: string[] = []
  let hang = true
  const agents = {
    boss: {
      tools: ['mark', 'sub_agent'],
      allowSubAgentCalls: true,
      script: async (turn: ScriptedTurn) => {
        await turn.think('first')
        await turn.tool('mark', {})
        await turn.tool('sub_agent', { agent_name: 'helper', task: 'part' })
        if (hang) await new Promise(() => undefined)
        return turn.think('last')
      },
    },
    helper: { script: () => 'done' },
  }
  const options = { agents, dataDir: join(place, 'data'), tools: [mark(runs)], cwd: place }
  const first = await openLine(options)
  const sent = await first.run('boss', 'go').accepted
  if ('code' in sent) throw new Error(sent.code)
  await expect.poll(async () => (await first.log.calls(1))[0]?.outcome).toBe('completed')
  await first.close()
  hang = false
  await using second = await openLine(options)
  await expect
    .poll(async () => (await second.store.turn(sent.turn))?.state, { timeout: 15_000 })
    .toBe('ended')
  expect((await second.log.events(sent.flow)).some(({ event }) => event.type === 'session.claimed')).toBe(
    true,
  )
  expect(await second.log.replay(sent.flow)).toMatchObject({
    equal: true,
    difference: null,
    turns: [{ agent: 'boss', stop: null }, { agent: 'helper' }],
  })
  expect(runs).toEqual(['mark'])
})
