/** What `tieline call` prints of a long answer. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { cli, json, patience, project } from '../kits/cli.ts'

vi.setConfig(patience)

test('tieline call cut its output at 13.8 kB and pointed to a tool', async () => {
  const place = mkdtempSync(join(tmpdir(), 'tieline-long-'))
  const long = `BEGIN ${'word '.repeat(6000)}END`
  writeFileSync(
    join(place, 'tieline.json'),
    JSON.stringify({
      server: { dataDir: './data', port: 0 },
      agents: { talker: { driver: 'scripted', script: [{ say: long }] } },
    }),
  )
  const named = ['--config', join(place, 'tieline.json')]
  const plain = await cli(place, 'call', 'talker', 'talk', ...named)
  expect([plain.code, plain.out]).toEqual([0, `${long}\n`])
  const said = json<{ output: string; truncated: boolean }>(
    await cli(place, 'call', 'talker', 'talk', '--json', ...named),
  )
  expect([said.output, said.truncated]).toEqual([long, false])
})

test('a refused call that a terminal made is refused in its flow too, also without a server', async () => {
  const { cwd } = project()
  expect((await cli(cwd, 'call', 'nobody', 'hi')).code).toBe(1)
  const { out } = await cli(cwd, 'flow', 'last')
  expect(out).toMatch(/^✗ nobody +hi/)
  expect(out).not.toContain('external')
})

test('a call in the background prints its id at once, and its answer is found later', async () => {
  const { cwd } = project()
  const begun = await cli(cwd, 'call', 'boss', 'hi', '--background')
  expect([begun.code, begun.out]).toEqual([0, expect.stringMatching(/^call_\S+\n$/)])
  expect(begun.err).toContain('/#/flows/flow_')
  try {
    await vi.waitFor(
      async () => {
        const { out } = await cli(cwd, 'flow', begun.out.trim(), '--output')
        expect(out).toBe('helper said hello 世界\n')
      },
      { timeout: 60_000, interval: 200 },
    )
    expect((await cli(cwd, 'flow', 'last', '--output')).out).toBe('helper said hello 世界\n')
    const { turns } = json<{ turns: { agent: string; output: string }[] }>(
      await cli(cwd, 'flow', 'last', '--json'),
    )
    expect(turns).toEqual([expect.objectContaining({ agent: 'boss', output: 'helper said hello 世界' })])
    expect((await cli(cwd, 'run', 'hi', '--agent', 'boss')).code).toBe(0)
    expect((await cli(cwd, 'flow', 'last', '--output')).out).toBe('helper said hello 世界\n')
  } finally {
    expect((await cli(cwd, 'stop')).code).toBe(0)
  }
})
