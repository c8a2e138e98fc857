/** What a server keeps belongs to its user alone, whatever the umask is and whatever an earlier version left. */
import { chmodSync, chownSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openServer } from '../../src/open-server.ts'
import { openLog } from '../../src/recorded-log.ts'
import { sqliteStore } from '../../src/store/sqlite.ts'
import { closeToOthers, dataNames } from '../../src/trust/private-files.ts'
import { patience } from '../kits/cli.ts'
import { readRelease, unpack, upgrade } from '../kits/released.ts'

vi.setConfig(patience)

const modeOf = (path: string): string => (lstatSync(path).mode & 0o777).toString(8)

/** Everything below, with its mode; directories and files that are as they should be are left out. */
function findOpen(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .map((entry) => ({ path: join(entry.parentPath, entry.name), isFolder: entry.isDirectory() }))
    .concat({ path: directory, isFolder: true })
    .filter(({ path, isFolder }) => modeOf(path) !== (isFolder ? '700' : '600'))
    .map(({ path }) => `${path} ${modeOf(path)}`)
}

function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-modes-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

function withUmask(mask: number): void {
  const before = process.umask(mask)
  onTestFinished(() => void process.umask(before))
}

const agents = { echo: { script: [{ say: 'hello' }] } }

test.each(['files', 'agentfs'] as const)(
  'the log, keys, address and mail (%s) are closed to others, though the umask lets everybody in',
  async (storage) => {
    withUmask(0)
    const [home, dataDir] = [makeDirectory(), join(makeDirectory(), 'deep', 'data')]
    const mail = join(home, 'mail')
    const config = join(home, 'tieline.json')
    writeFileSync(config, JSON.stringify({ mail: { storage, directory: mail } }))
    const served = await openServer({ config, dataDir, port: 0, cwd: home, agents })
    try {
      const made = await served.line.sessions.create({ cwd: home, agent: 'echo' })
      if (!('sessionId' in made)) throw new Error('no session')
      await served.line.run('echo', 'go', { session: made.sessionId })
      await served.line.sessions.send(made.sessionId, { message: 'a letter', delivery: 'buffer' })
      await vi.waitFor(() => expect(readdirSync(mail).join()).toContain(made.sessionId), { timeout: 30_000 })
      expect(readdirSync(dataDir).toSorted()).toEqual(
        expect.arrayContaining([
          'owner.lock',
          'secret',
          'server.json',
          'tieline.db',
          'tieline.db-wal',
          'token',
        ]),
      )
      expect(findOpen(dataDir)).toEqual([])
      await vi.waitFor(() => expect(findOpen(mail)).toEqual([]), { timeout: 30_000 })
    } finally {
      await served.close()
    }
    expect(findOpen(dataDir)).toEqual([])
  },
)

test('a directory of 0.1.0 that everybody can read is closed at the start, and still works', async () => {
  const release = readRelease('0.1.0')
  const place = unpack(release)
  chmodSync(place.dataDir, 0o755)
  for (const name of readdirSync(place.dataDir)) chmodSync(join(place.dataDir, name), 0o644)
  const { user, warnings } = await upgrade(release, place)
  expect(findOpen(place.dataDir)).toEqual([])
  expect((await user('GET', '/api/sessions')).status).toBe(200)
  expect(warnings).toEqual([])
})

test('looking at a log closes it too', async () => {
  const directory = makeDirectory()
  await sqliteStore({ directory, now: () => 1 }).close()
  chmodSync(directory, 0o755)
  chmodSync(join(directory, 'tieline.db'), 0o644)
  await (await openLog({ dataDir: directory })).close()
  expect(findOpen(directory)).toEqual([])
})

test('what is not ours keeps its mode: other files, links, and a directory that others share', () => {
  const directory = makeDirectory()
  chmodSync(directory, 0o1777)
  for (const name of ['token', 'notes.txt', 'tieline.db']) {
    writeFileSync(join(directory, name), '')
    chmodSync(join(directory, name), 0o644)
  }
  symlinkSync(join(directory, 'notes.txt'), join(directory, 'server.json'))
  closeToOthers(directory, dataNames)
  expect(['.', 'token', 'tieline.db', 'notes.txt'].map((name) => modeOf(join(directory, name)))).toEqual([
    '777',
    '600',
    '600',
    '644',
  ])
  const before = statSync(process.cwd()).mode
  closeToOthers(process.cwd(), dataNames)
  expect(statSync(process.cwd()).mode).toBe(before)
})

test('a data directory in a project closed its yarn.lock and its logs to others: only ours are closed', () => {
  const directory = makeDirectory()
  const theirs = [
    'yarn.lock',
    'Cargo.lock',
    'error.log',
    'debug.log.1',
    'limits.toml',
    'disk.probe',
    'tieline.toml',
  ]
  const ours = ['owner.lock', 'serve.log', 'space.probe', 'limits.json', 'limits.json.new', 'totals.kept.new']
  for (const name of [...theirs, ...ours]) {
    writeFileSync(join(directory, name), '')
    chmodSync(join(directory, name), 0o644)
  }
  closeToOthers(directory, dataNames)
  expect(theirs.filter((name) => modeOf(join(directory, name)) !== '644')).toEqual([])
  expect(ours.filter((name) => modeOf(join(directory, name)) !== '600')).toEqual([])
})

test.skipIf(process.getuid?.() !== 0)(
  'a data directory of another user is refused, and nothing in it is read or changed (needs root: it makes one)',
  async () => {
    const directory = makeDirectory()
    const dataDir = join(directory, 'data')
    mkdirSync(dataDir, { mode: 0o755 })
    writeFileSync(join(dataDir, 'token'), 'chosen-by-somebody-else')
    chownSync(dataDir, 65534, 65534)
    await expect(openServer({ dataDir, port: 0, agents })).rejects.toThrow(
      'belongs to another user (uid 65534)',
    )
    expect(() => sqliteStore({ directory: dataDir, now: () => 1 })).toThrow('belongs to another user')
    expect([modeOf(dataDir), readdirSync(dataDir)]).toEqual(['755', ['token']])
  },
)
