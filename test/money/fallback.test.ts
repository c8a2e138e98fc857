/** Providers and agents that cannot work, each in its own way, and who does their work. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { tielineClient } from '../../src/client/client.ts'
import { serve } from '../../src/server/index.ts'
import { driveFake } from '../kits/driven.ts'
import { fakeModel, type FakeRule } from '../kits/fake-model.ts'

vi.setConfig({ testTimeout: 60_000 })

/** An address where nobody listens. */
async function deadUrl(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

async function open(first: FakeRule | null, fallback: readonly string[] = ['second']) {
  const broken = first === null ? null : await fakeModel([first])
  const good = await fakeModel([{ text: 'done by the second' }])
  const directory = mkdtempSync(join(tmpdir(), 'tieline-fallback-'))
  const config = join(directory, 'tieline.json')
  const provider = (url: string) => ({ kind: 'anthropic', baseURL: url, apiKeyEnv: 'FAKE_MODEL_KEY' })
  writeFileSync(
    config,
    JSON.stringify({
      providers: { one: provider(broken?.url ?? (await deadUrl())), two: provider(good.url) },
      agents: {
        first: { model: 'one/claude-sonnet-4-5', tools: ['list_agents'], fallback },
        second: { model: 'two/claude-sonnet-4-5' },
      },
    }),
  )
  vi.stubEnv('FAKE_MODEL_KEY', 'sk-test-0123456789abcdef')
  const start = () => serve({ config, dataDir: join(directory, 'data'), port: 0, cwd: directory })
  let served = await start()
  const restart = async () => {
    await served.close()
    served = await start()
    return tielineClient({ url: served.url })
  }
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    await served.close()
    await broken?.close()
    await good.close()
    rmSync(directory, { recursive: true, force: true })
  })
  return { client: tielineClient({ url: served.url }), broken, good, restart }
}

const ways: readonly (readonly [string, FakeRule | null, RegExp])[] = [
  ['a 429 with a long reset', { status: 429, retryAfter: '3600', errorText: 'slow down' }, /429/],
  ['a login that has run out', { status: 401, errorText: 'invalid x-api-key' }, /401/],
  ['a dead endpoint', null, /provider_error|provider_cut/],
]

test.each(ways)('%s moves the call once, and the record says why', async (_way, rule, reason) => {
  const { client, broken, good } = await open(rule)
  const answer = await client.calls.open({ agent: 'first', task: 'do it' })
  expect(answer).toMatchObject({ outcome: 'completed', output: 'done by the second', agent_name: 'second' })
  expect(answer.notes.join()).toMatch(/^first could not do it, so second did: /)
  expect(answer.notes.join()).toMatch(reason)
  expect(broken?.requests.length ?? 1).toBe(1)
  expect(good.requests).toHaveLength(1)
  const record = await client.calls.get(answer.call_id)
  expect(record).toMatchObject({ target: 'first', moved: { from: 'first', to: 'second' } })
})

test('a dead endpoint with a fallback is tried once, and one that fails is tried twice', async () => {
  const dead = await open(null)
  const answer = await dead.client.calls.open({ agent: 'first', task: 'do it' })
  expect(answer.notes.join()).toMatch(/ECONNREFUSED|connect/i)
  expect(answer.notes.join()).not.toMatch(/after \d+ tries/)
  const failing = await open({ status: 503, errorText: 'overloaded' })
  expect(await failing.client.calls.open({ agent: 'first', task: 'do it' })).toMatchObject({
    agent_name: 'second',
  })
  expect(failing.broken?.requests).toHaveLength(2)
})

test('a limit that a provider has reported is not forgotten at a restart', async () => {
  const { client, broken, restart } = await open({ status: 429, retryAfter: '3600', errorText: 'slow down' })
  await client.calls.open({ agent: 'first', task: 'do it' })
  const listLimits = async (of: typeof client) => (await of.agents()).map(({ limit }) => limit)
  expect(await listLimits(client)).toEqual([
    expect.stringMatching(/^over its limit until .*slow down/),
    undefined,
  ])
  const again = await restart()
  expect(await listLimits(again)).toEqual([
    expect.stringMatching(/^over its limit until .*slow down/),
    undefined,
  ])
  expect(await again.calls.open({ agent: 'first', task: 'do it' })).toMatchObject({ agent_name: 'second' })
  expect(broken?.requests).toHaveLength(1)
})

test('a provider that breaks after a tool was used moves nothing', async () => {
  const { client, broken, good } = await open({ status: 401, errorText: 'invalid x-api-key' })
  broken?.rules.unshift({ times: 1, tools: [{ name: 'list_agents', input: {} }] })
  const answer = await client.calls.open({ agent: 'first', task: 'do it' })
  expect(answer).toMatchObject({ outcome: 'failed', agent_name: 'first', tool_calls: ['list_agents'] })
  expect(good.requests).toHaveLength(0)
})

test('a driven agent over its limit is replaced by another, in the same session', async () => {
  const driven = await driveFake({ overLimit: true }, { fallback: ['echo'] })
  const answer = (await driven.call('say it')) as { outcome: string | null; output: string }
  expect(answer).toMatchObject({ outcome: 'completed', agent_name: 'echo' })
  expect(answer.output).toContain('say it')
  // It is believed for a while, so the next call does not even start it.
  const started = driven.log().length
  expect(await driven.call('again')).toMatchObject({ outcome: 'completed', agent_name: 'echo' })
  expect(driven.log()).toHaveLength(started)
})
