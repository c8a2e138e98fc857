import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openLine } from '../../src/open-line.ts'
import { openServer } from '../../src/open-server.ts'
import { mintSessionToken } from '../../src/server/identity.ts'

test('tools that nobody has are typing errors, each named with the nearest one', async () => {
  const tools = ['raed', 'list', 'writ']
  await expect(openLine({ agents: { a: { tools, script: () => 'x' } } })).rejects.toThrow(
    'agents.a.tools[0]: there is no tool "raed"; the nearest known one is "read".\n' +
      'agents.a.tools[2]: there is no tool "writ"; the nearest known one is "write".',
  )
})

test('an unknown field of an agent is told with the nearest known one', async () => {
  await expect(openLine({ agents: { a: { tols: [], script: () => 'x' } as object } })).rejects.toThrow(
    'agents.a.tols: unknown key; the nearest known one is "tools".',
  )
})

test('a run is awaited like any promise', async () => {
  await using line = await openLine({ agents: { a: { script: () => 'x' } } })
  let done = false
  expect(
    await line
      .run('a', 'go')
      .finally(() => (done = true))
      .catch(() => null),
  ).toMatchObject({ output: 'x' })
  expect(done).toBe(true)
})

test('tools of MCP servers and wildcards need not be known beforehand', async () => {
  await using line = await openLine({
    agents: {
      a: { tools: ['files_read', 'sub_*'], mcpServers: { files: { command: 'false' } }, script: () => 'x' },
    },
    onWarning: () => undefined,
  })
  expect(line.running()).toBe(0)
})

test('a directory to work in must exist', async () => {
  await using line = await openLine({ agents: { a: { script: () => 'x' } } })
  expect(() => line.run('a', 'go', { cwd: '/nowhere/at/all' })).toThrow('a directory that exists')
})

test('what an earlier process left goes on by itself, and one can wait for it', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-serve-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  let stuck = true
  const agents = {
    a: {
      script: async () => {
        if (stuck) await new Promise(() => undefined)
        return 'finished after all'
      },
    },
  }
  const first = await openLine({ agents, dataDir: directory })
  const run = first.run('a', 'go')
  const sent = await run.accepted
  if ('code' in sent) throw new Error(sent.code)
  await first.close()
  await expect(run).rejects.toThrow('goes on when its data directory is opened again')
  stuck = false
  await using second = await openLine({ agents, dataDir: directory })
  while ((await second.store.turn(sent.turn))?.state !== 'ended')
    await new Promise((resolve) => setTimeout(resolve, 20))
  await second.idle()
  const row = await second.store.turn(sent.turn)
  const ended = await second.store.event(row?.endedSeq ?? 0)
  expect(ended?.event).toMatchObject({
    type: 'turn.ended',
    outcome: 'completed',
    output: 'finished after all',
  })
})

test('a turn that blocks the process when it is resumed does so only after the server is reachable', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-serve-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const seen: string[] = []
  let first = true
  const agents = {
    a: {
      script: async () => {
        if (first) await new Promise(() => undefined)
        seen.push('resumed')
        return 'done'
      },
    },
  }
  const before = await openLine({ agents, dataDir: directory })
  const run = before.run('a', 'go')
  await run.accepted
  await before.close()
  await expect(run).rejects.toThrow('goes on when its data directory is opened again')
  first = false
  const served = await openServer({ agents, dataDir: directory, port: 0, onWarning: () => undefined })
  seen.push('listening')
  while (!seen.includes('resumed')) await new Promise((resolve) => setTimeout(resolve, 20))
  await served.close()
  expect(seen).toEqual(['listening', 'resumed'])
})

test('a data directory that cannot be made is refused at once', async () => {
  await expect(openLine({ dataDir: '/proc/nothing/here' })).rejects.toThrow(
    'cannot be used as a data directory',
  )
})

test('the tokens of the server, what signs them, and keys reach neither the log nor a warning', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-serve-'))
  const key = `hf_${'aBcDeFgH'.repeat(4)}xy`
  process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = key
  const warnings: string[] = []
  const served = await openServer({
    dataDir: directory,
    port: 0,
    agents: { a: { script: (turn) => turn.task } },
    onWarning: (text) => warnings.push(text),
  })
  onTestFinished(async () => {
    delete process.env['OTEL_EXPORTER_OTLP_ENDPOINT']
    await served.close()
    rmSync(directory, { recursive: true, force: true })
  })
  const [token = '', seed = ''] = ['token', 'secret'].map((name) =>
    readFileSync(join(directory, name), 'utf8').trim(),
  )
  expect(token).toMatch(/^tlu_/)
  const { output, session } = await served.line.run('a', `${token} ${seed}`)
  expect(output).toBe('[redacted] [redacted]')
  const capability = mintSessionToken(Buffer.from(seed), session as `ses_${string}`)
  expect(await served.line.run('a', `curl -H "x-tieline-session-token: ${capability}"`)).toMatchObject({
    output: 'curl -H "x-tieline-session-token: [redacted]"',
  })
  expect(warnings.join()).toContain('OTEL_EXPORTER_OTLP_ENDPOINT is "[redacted]"')
})
