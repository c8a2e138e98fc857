/** What is used of a plan and of rate limits, from the real wires to everybody who asks for the agents. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { renderAgents } from '../../src/cli/commands/agents.ts'
import { tielineClient, type TielineClient } from '../../src/client/client.ts'
import { serve } from '../../src/server/index.ts'
import { driveFake } from '../kits/driven.ts'
import { fakeModel } from '../kits/fake-model.ts'

vi.setConfig({ testTimeout: 90_000 })

/** In whole seconds, as the wires have it: half past an hour, a day away. */
const seconds = Math.ceil(Date.now() / 3_600_000) * 3600 + 86_400 + 1800
/** The wall clock may be set by a little while the server counts by another one. */
const nearly = expect.stringContaining(new Date(seconds * 1000).toISOString().slice(0, 13)) as string

const readWindows = async (client: TielineClient, name: string) =>
  (await client.agents()).find((agent) => agent.name === name)?.windows

test('a window of a plan that an agent reports is shown by every list of agents', async () => {
  const driven = await driveFake()
  const client = tielineClient({ url: driven.served.url })
  expect(await readWindows(client, 'fake')).toBeUndefined()
  const plan = { '_claude/rateLimit': { rateLimitType: 'five_hour', utilization: 0.82, resetsAt: seconds } }
  expect(await driven.call(`use 10 plan ${JSON.stringify(plan)}\nsay done`)).toMatchObject({
    outcome: 'completed',
  })
  const window = { name: '5 hours', usedPercent: 82, resetsAt: nearly }
  expect(await readWindows(client, 'fake')).toEqual([window])
  const [line] = renderAgents(await client.agents(), [], '/')
  expect(line).toContain('5 hours: 82 % used, until 2')
})

test("a provider's rate limits are read from its answer, shown to models too, and kept over a restart", async () => {
  const model = await fakeModel([
    {
      text: 'done',
      headers: {
        'anthropic-ratelimit-unified-7d-utilization': '0.62',
        'anthropic-ratelimit-unified-7d-reset': String(seconds),
      },
    },
  ])
  const directory = mkdtempSync(join(tmpdir(), 'tieline-windows-'))
  const config = join(directory, 'tieline.json')
  const provider = { kind: 'anthropic', baseURL: model.url, apiKeyEnv: 'FAKE_MODEL_KEY' }
  writeFileSync(
    config,
    JSON.stringify({ providers: { one: provider }, agents: { worker: { model: 'one/claude-sonnet-4-5' } } }),
  )
  vi.stubEnv('FAKE_MODEL_KEY', 'sk-test-0123456789abcdef')
  const start = () => serve({ config, dataDir: join(directory, 'data'), port: 0, cwd: directory })
  let served = await start()
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    await served.close()
    await model.close()
    rmSync(directory, { recursive: true, force: true })
  })
  const client = tielineClient({ url: served.url })
  expect(await client.calls.open({ agent: 'worker', task: 'x' })).toMatchObject({ outcome: 'completed' })
  const window = { name: 'week', usedPercent: 62, resetsAt: nearly }
  expect(await readWindows(client, 'worker')).toEqual([window])
  const told = await fetch(`${served.url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'list_agents', arguments: {} },
    }),
  })
  expect(await told.text()).toContain('usedPercent')
  await served.close()
  served = await start()
  expect(await readWindows(tielineClient({ url: served.url }), 'worker')).toEqual([window])
})
