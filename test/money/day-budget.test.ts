/** What a day may cost, on a real server: for a project, for the server, and over restarts. */
import { expect, test, vi } from 'vitest'
import { clientAt, projectWorld } from '../kits/projects.ts'
import { fakeModel } from '../kits/fake-model.ts'

vi.setConfig({ testTimeout: 60_000 })

const agent = '[agents.worker]\nmodel = "fake/m"\n'

test('a project and the server each spend what they may in a day, also after a restart', async () => {
  vi.stubEnv('FAKE_MODEL_KEY', 'sk-test-0123456789abcdef')
  const fake = await fakeModel([{ text: 'done', usage: { input: 1_000_000, output: 1 } }])
  const own =
    `[providers.fake]\nkind = "openai-compatible"\nbaseURL = "${fake.url}"\napiKeyEnv = "FAKE_MODEL_KEY"\n` +
    `[prices."fake/m"]\ninput = 1\noutput = 0\n${agent}[limits]\ndayUsdMax = 5\n`
  const w = projectWorld(own)
  const api = w.project('api', '[limits]\ndayUsdMax = 2\n')
  const elsewhere = w.dir('elsewhere')
  const call = { agent: 'worker', task: 'work' }
  const first = await w.serve()
  const spend = async (cwd: string, served = first): Promise<number | undefined> =>
    (await clientAt(served, cwd).calls.open(call)).cost_usd
  expect([await spend(api), await spend(api)]).toEqual([1, 1])
  const usedUp = (of: string, max: number) => ({
    code: 'budget_exhausted',
    details: { usd: { day: of, max: max * 1e9, used: max * 1e9 } },
  })
  await expect(spend(api)).rejects.toMatchObject(usedUp('project', 2))
  expect([await spend(elsewhere), await spend(elsewhere), await spend(elsewhere)]).toEqual([1, 1, 1])
  await expect(spend(elsewhere)).rejects.toMatchObject(usedUp('server', 5))
  await first.close()

  const second = await w.serve()
  await expect(spend(api, second)).rejects.toMatchObject({ code: 'budget_exhausted' })
  await expect(spend(elsewhere, second)).rejects.toMatchObject(usedUp('server', 5))
  // A changed file counts from the next call on.
  w.put('xdg/tieline/tieline.toml', own.replace('dayUsdMax = 5', 'dayUsdMax = 6'))
  expect(await spend(elsewhere, second)).toBe(1)
  await expect(spend(api, second)).rejects.toMatchObject(usedUp('server', 6))
  expect(fake.requests).toHaveLength(6)
  vi.unstubAllEnvs()
  await fake.close()
})
