/** Where the plugin looks for the server, and what it needs to start one. */
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { surroundings } from '../../client/surroundings.ts'
import { openServer, type OpenServer } from '../../open-server.ts'
import { findNode, isEnough } from './find-server.ts'
import { findDataDir, findServer } from './find-server.ts'

let root: string
let served: OpenServer | null = null
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tieline-find-'))
})
afterEach(async () => {
  await served?.close()
  served = null
})

const find = (more: { env?: Record<string, string>; dataDir?: string } = {}): Promise<string> =>
  findDataDir({ cwd: root, env: { HOME: '/home/me', ...more.env }, dataDir: more.dataDir })

test('the data directory comes from the options, the environment, a configuration, or is the usual one', async () => {
  expect(await find()).toBe('/home/me/.local/share/tieline')
  mkdirSync(join(root, 'xdg', 'tieline'), { recursive: true })
  writeFileSync(
    join(root, 'xdg', 'tieline', 'tieline.json'),
    '{ "server": { "port": 1, "dataDir": "~/mine" } }',
  )
  const env = { XDG_CONFIG_HOME: join(root, 'xdg') }
  expect(await find({ env })).toBe('/home/me/mine')
  writeFileSync(join(root, 'tieline.toml'), '[server]\ndataDir = "of whoever wrote this directory"\n')
  expect(await find({ env })).toBe('/home/me/mine')
  const own = join(root, 'xdg', 'tieline', 'tieline.toml')
  writeFileSync(
    own,
    '[agents.dataDir]\ndescription = "x"\n[server]\nport = 1\n# dataDir = "no"\ndataDir = "here" # yes\n[limits]\n',
  )
  expect(await find({ env })).toBe(join(root, 'xdg', 'tieline', 'here'))
  writeFileSync(own, '[server]\nport = 1\n[agents.x]\ndataDir = "not this"\n')
  expect(await find({ env })).toBe('/home/me/.local/share/tieline')
  expect(await find({ env: { ...env, TIELINE_DATA_DIR: 'there' } })).toBe(join(root, 'there'))
  expect(await find({ env: { ...env, TIELINE_DATA_DIR: 'there' }, dataDir: '/given' })).toBe('/given')
})

test('a running server is found by its file; the file of a dead one is ignored, and none is started', async () => {
  const place = { cwd: root, env: {}, dataDir: join(root, 'data'), surroundings }
  mkdirSync(place.dataDir)
  expect(await findServer(place, false)).toBe(null)
  writeFileSync(join(place.dataDir, 'server.json'), '{ "url": "http://127.0.0.1:9", "pid": 1 }')
  expect(await findServer(place, false)).toBe(null)
  served = await openServer({ dataDir: place.dataDir, port: 0, agents: { a: { script: [{ say: 'x' }] } } })
  expect(await findServer(place, true)).toMatchObject({
    url: served.url,
    token: expect.any(String) as string,
  })
})

test('a server that is named is taken as it is, if it is there', async () => {
  served = await openServer({
    dataDir: join(root, 'data'),
    port: 0,
    agents: { a: { script: [{ say: 'x' }] } },
  })
  expect(
    await findServer({ cwd: root, env: { TIELINE_TOKEN: 't' }, server: served.url, surroundings }, true),
  ).toEqual({ url: served.url, token: 't' })
  await expect(
    findServer({ cwd: root, env: { TIELINE_SERVER: 'http://127.0.0.1:9' }, surroundings }, true),
  ).rejects.toThrow('no Tieline server answers at http://127.0.0.1:9')
})

function fakeNode(folder: string, version: string): string {
  mkdirSync(join(root, folder), { recursive: true })
  const file = join(root, folder, 'node')
  writeFileSync(file, `#!/bin/sh\necho ${version}\n`)
  chmodSync(file, 0o755)
  return file
}

test("the first Node that is new enough is used, the package's own first; else it says what it found", async () => {
  const old = fakeNode('old', 'v20.18.0')
  await expect(
    findNode(join(root, 'pkg'), { PATH: `${join(root, 'nothing')}:${join(root, 'old')}` }),
  ).rejects.toThrow(`Node 24.15 or newer is needed to start the server, and ${old} is v20.18.0.`)
  await expect(findNode(join(root, 'pkg'), {})).rejects.toThrow('there is no node in PATH')
  const inPath = fakeNode('new', 'v24.15.1')
  expect(await findNode(join(root, 'pkg'), { PATH: `${join(root, 'old')}:${join(root, 'new')}` })).toBe(
    inPath,
  )
  const packaged = fakeNode('pkg/node_modules/node/bin', 'v25.0.0')
  expect(await findNode(join(root, 'pkg'), { PATH: join(root, 'new') })).toBe(packaged)
  expect([['v24.14.9', 'v24.15.0', 'v25.1.0', 'v9.99.0'].map(isEnough)]).toEqual([[false, true, true, false]])
})
