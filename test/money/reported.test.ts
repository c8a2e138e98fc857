/** What agents and programs say that they have cost, on a real server: their word wins over the table. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { tielineClient } from '../../src/client/client.ts'
import type { Usage } from '../../src/model/event.ts'
import { serve } from '../../src/server/index.ts'
import { driveFake, type Driven } from '../kits/driven.ts'

vi.setConfig({ testTimeout: 60_000 })

const readCosts = async (driven: Driven): Promise<(Usage['cost'] | undefined)[]> =>
  (await driven.events('step.ended')).flatMap(({ kind, usage }) => (kind === 'model' ? [usage?.cost] : []))

test('ACP: of what an agent says its whole session has cost, each prompt has its part; a plan is marked', async () => {
  const driven = await driveFake()
  const client = tielineClient({ url: driven.served.url })
  const { sessionId } = await client.sessions.create({ agent: 'fake', cwd: driven.directory })
  for (const [n, total] of [0.3, 0.5].entries()) {
    await client.sessions.send(sessionId, { message: `use 10 ${total}\nsay done` })
    await client.sessions.wait(sessionId)
    expect(await readCosts(driven)).toHaveLength(n + 1)
  }
  expect(await readCosts(driven)).toEqual([
    { nanoUsd: 300_000_000, by: 'reported', plan: true },
    { nanoUsd: 200_000_000, by: 'reported', plan: true },
  ])
  const session = await client.sessions.get(sessionId)
  expect(session).toMatchObject({ tokensUsed: 220, cost: { usd: 0.5, planUsd: 0.5, unpricedTokens: 0 } })
  const { agents, days, projects, tokens } = await client.numbers()
  const whole = { usd: 0.5, planUsd: 0.5, unpricedTokens: 0 }
  for (const sum of [agents[0]?.tokens, days[0], projects[0], tokens]) expect(sum?.cost).toEqual(whole)
  const metrics = await (await fetch(`${driven.served.url}/metrics`)).text()
  expect(metrics).toMatch(/tieline_cost_usd_total\{agent="fake",by="reported",plan="true"\} 0\.5/)
})

test('ACP: with a key of its own it is money, and another currency has no price', async () => {
  const driven = await driveFake({}, { billing: 'key' })
  expect(await driven.call('use 10 0.25\nsay done')).toMatchObject({ outcome: 'completed', cost_usd: 0.25 })
  expect(await readCosts(driven)).toEqual([{ nanoUsd: 250_000_000, by: 'reported' }])
})

test('ACP: an agent that says nothing of money is unpriced, never 0, and one without counts says so', async () => {
  const driven = await driveFake({ usage: 'none' })
  const answer = await driven.call('say done')
  expect(answer).toMatchObject({ outcome: 'completed' })
  expect(answer).not.toHaveProperty('cost_usd')
  const client = tielineClient({ url: driven.served.url })
  const record = await client.calls.get(answer.call_id)
  expect(record.cost).toMatchObject({ usd: null, unpricedTokens: answer.tokens_used })
  const { usage } = (await driven.events('step.ended')).find(({ kind }) => kind === 'model') ?? {}
  expect(usage).toMatchObject({ estimated: true })
})

test('a connected program: the cost that it says is the cost, and without one its tokens are unpriced', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-reported-'))
  const served = await serve({ dataDir: join(directory, 'data'), port: 0, cwd: directory })
  const client = tielineClient({ url: served.url })
  const usages = [
    { input: 5, output: 5, costUsd: 0.125 },
    { input: 3, output: 4 },
  ]
  const host = client.host({
    agent: 'mine',
    sessions: [{ id: 'one', cwd: directory }],
    run: async () => {
      const usage = usages.shift()
      return { output: 'done', ...(usage === undefined ? {} : { usage }) }
    },
  })
  onTestFinished(async () => {
    host.close()
    await served.close()
    rmSync(directory, { recursive: true, force: true })
  })
  await host.ready
  for (const message of ['one', 'two']) {
    await client.sessions.send('ses_mine-one', { message })
    await client.sessions.wait('ses_mine-one')
  }
  const session = await client.sessions.get('ses_mine-one')
  expect(session).toMatchObject({ tokensUsed: 17, cost: { usd: 0.125, planUsd: 0, unpricedTokens: 7 } })
})
