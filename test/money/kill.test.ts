/** The server is killed in the middle of a request that is paid for: what was spent before is not forgotten. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { tielineClient } from '../../src/client/client.ts'
import { compiled } from '../kits/compiled.ts'
import { fakeModel } from '../kits/fake-model.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

async function start(directory: string): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [main, 'serve', '--port', '0', '--json'], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...compiled,
      PATH: process.env['PATH'],
      HOME: directory,
      FAKE_MODEL_KEY: 'sk-test-0123456789abcdef',
      TIELINE_CONFIG: join(directory, 'tieline.toml'),
      TIELINE_DATA_DIR: join(directory, 'data'),
    },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let text = ''
  for await (const chunk of child.stdout) {
    text += String(chunk)
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0]
    if (url !== undefined) return { child, url }
  }
  throw new Error(`the server did not start: ${text}`)
}

/** Each answer costs a dollar and asks for a tool, so that only money ends it. */
const spender = { tools: [{ name: 'list_agents', input: {} }], usage: { input: 1000, output: 1 } }

test.each([
  ['max_usd', '', { max_usd: 4 }],
  ['flowUsdMax', '[limits]\nflowUsdMax = 4\n', {}],
  ['dayUsdMax', '[limits]\ndayUsdMax = 4\n', {}],
])(
  'a kill in the middle of a request does not forget what was spent: %s holds over it',
  async (_limit, limits, asked) => {
    const directory = realpathSync(mkdtempSync(join(tmpdir(), 'tieline-money-kill-')))
    const model = await fakeModel([{ when: { request: 3 }, hang: 'before' }, spender], { toolRoundsMax: 50 })
    onTestFinished(async () => {
      await model.close()
      rmSync(directory, { recursive: true, force: true })
    })
    writeFileSync(
      join(directory, 'tieline.toml'),
      `[providers.fake]\nkind = "anthropic"\nbaseURL = "${model.url}"\napiKeyEnv = "FAKE_MODEL_KEY"\n` +
        `[prices."fake/m"]\ninput = 1000\noutput = 0\n${limits}` +
        `[agents.worker]\nmodel = "fake/m"\ntools = ["list_agents"]\n`,
    )
    const first = await start(directory)
    const { call_id: call } = await tielineClient({ url: first.url }).calls.open({
      agent: 'worker',
      task: 'spend',
      background: true,
      ...asked,
    })
    await vi.waitFor(() => expect(model.requests).toHaveLength(3), { timeout: 90_000 })
    first.child.kill('SIGKILL')
    await once(first.child, 'exit')

    const second = await start(directory)
    const client = tielineClient({ url: second.url })
    await vi.waitFor(
      async () => expect(await client.calls.get(call)).toMatchObject({ outcome: 'budget_exhausted' }),
      { timeout: 90_000, interval: 200 },
    )
    // Two answers before the kill and two after it: the one that nobody heard is asked for again.
    expect(model.requests).toHaveLength(5)
    const record = await client.calls.get(call)
    expect(record.cost).toMatchObject({ usd: 4, unpricedTokens: 0 })
    const { tokens, days } = await client.numbers()
    expect([tokens.cost.usd, days.reduce((sum, { cost }) => sum + (cost.usd ?? 0), 0)]).toEqual([4, 4])
    // The same request is recognised as the same by its provider.
    const keys = model.requests.map(({ headers }) => headers['idempotency-key'])
    expect(keys[3]).toBe(keys[2])
    second.child.kill('SIGTERM')
    await once(second.child, 'exit')
  },
  240_000,
)
