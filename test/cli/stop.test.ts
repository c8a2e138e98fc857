import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { cli, json, patience, project, start } from '../kits/cli.ts'

vi.setConfig(patience)

test('commands say that a server has another or an older configuration; stop ends it', async () => {
  const one = project()
  const server = start(one.cwd, ['serve', '--json'])
  await server.says('"url"')
  expect(JSON.parse(readFileSync(join(one.data, 'server.json'), 'utf8'))).toMatchObject({
    config: one.config,
    digest: expect.any(String) as unknown,
  })
  expect(await cli(one.cwd, 'call', 'helper', 'x')).toMatchObject({
    code: 0,
    err: expect.not.stringContaining('does not know') as unknown,
  })

  const other = project({
    server: { dataDir: one.data, port: 0 },
    agents: { fresh: { driver: 'scripted', script: [{ say: 'hi' }] } },
  })
  const asked = await cli(other.cwd, 'call', 'fresh', 'x')
  expect(asked.code).toBe(1)
  expect(asked.err).toContain(
    `tieline: the server of ${one.data} works with ${one.config}, and does not know ${other.config}. ` +
      'End it with "tieline stop", or',
  )
  expect((await cli(other.cwd, 'call', 'fresh', 'x', '--quiet')).err).not.toContain('does not know')
  const { findings } = json<{ findings: { what: string; state: string; says: string; todo: string }[] }>(
    await cli(other.cwd, 'doctor', '--json'),
  )
  expect(findings.find(({ what }) => what === 'configuration')).toMatchObject({
    state: 'warning',
    says: expect.stringContaining('does not know') as unknown,
    todo: expect.stringContaining('tieline stop') as unknown,
  })

  writeFileSync(one.config, readFileSync(one.config, 'utf8').replace('"hello 世界"', '"good bye"'))
  expect((await cli(one.cwd, 'trust', '--yes')).out).toContain('tieline stop')
  expect((await cli(one.cwd, 'call', 'helper', 'x')).err).toContain(
    `the server was started before ${one.config} was changed`,
  )

  expect(await cli(one.cwd, 'stop')).toEqual({
    code: 0,
    out: `The server of ${one.data} (process ${server.child.pid}) has ended.\n`,
    err: '',
  })
  expect((await server.ended).code).toBe(143)
  expect(json(await cli(one.cwd, 'stop', '--json'))).toEqual({ dataDir: one.data, stopped: null })
  expect(await cli(one.cwd, 'stop')).toMatchObject({ code: 0, out: `No server runs on ${one.data}.\n` })
  expect(await cli(one.cwd, 'call', 'helper', 'x', '--quiet')).toMatchObject({ code: 0, out: 'good bye\n' })
})
