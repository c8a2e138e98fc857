import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { cli, json, patience, project, start, type Ended } from '../kits/cli.ts'

vi.setConfig(patience)

test('a server serves projects that it was not started for, and learns what changes; stop ends it', async () => {
  const one = project()
  // Projects of one user: what they agreed to is in one place.
  const env = { XDG_CONFIG_HOME: join(one.cwd, 'xdg') }
  const ask = (cwd: string, ...args: string[]): Promise<Ended> => {
    const started = start(cwd, args, env)
    started.child.stdin.end()
    return started.ended
  }
  const server = start(one.cwd, ['serve', '--json'])
  await server.says('"url"')
  expect(JSON.parse(readFileSync(join(one.data, 'server.json'), 'utf8'))).toMatchObject({
    config: one.config,
    digest: expect.any(String) as unknown,
  })
  expect(await cli(one.cwd, 'call', 'helper', 'x')).toMatchObject({ code: 0 })

  const other = project({
    server: { dataDir: one.data, port: 0 },
    agents: { fresh: { driver: 'scripted', script: [{ say: 'hi' }] } },
  })
  expect((await ask(other.cwd, 'trust', '--yes')).code).toBe(0)
  expect(await ask(other.cwd, 'call', 'fresh', 'x')).toMatchObject({ code: 0, out: 'hi\n' })
  expect((await ask(other.cwd, 'call', 'helper', 'x')).err).toContain('There is no agent "helper"')
  const named = await ask(other.cwd, 'call', 'fresh', 'x', '--config', other.config)
  expect(named.err).toContain(`works with ${one.config}, and does not know ${other.config}. End it`)
  const quiet = await ask(other.cwd, 'call', 'fresh', 'x', '--config', other.config, '--quiet')
  expect(quiet.err).not.toContain('does not know')

  writeFileSync(one.config, readFileSync(one.config, 'utf8').replace('"hello 世界"', '"good bye"'))
  expect((await cli(one.cwd, 'call', 'helper', 'x')).err).toContain('has changed since a person agreed')
  expect((await cli(one.cwd, 'trust', '--yes')).out).toContain('from the next call on')
  expect(await cli(one.cwd, 'call', 'helper', 'x', '--quiet')).toMatchObject({ code: 0, out: 'good bye\n' })

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
