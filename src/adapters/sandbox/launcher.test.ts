import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Agent } from '../../model/agent.ts'
import { explain, isRefusal } from '../../model/refusal.ts'
import { packageDir } from '../../own-files.ts'
import { describePeers, describeUnconfined } from './describe-open.ts'
import { createLauncher, type LauncherOptions } from './launcher.ts'
import { mayReach } from './outward.ts'
import { findPlaces } from './places.ts'
import type { Found } from './probe.ts'
import { describeFilter } from './seccomp.ts'
import { writeProfile } from './seatbelt.ts'

const none: Found = { kind: 'none', why: 'bwrap is missing', cure: 'Install it.' }
const command = { program: '/bin/sh', args: ['-c', 'true'], cwd: '/', env: { PATH: '/bin' } }

function launcher(more: Partial<LauncherOptions> = {}) {
  const made = createLauncher({
    mode: 'auto',
    network: 'public',
    places: { home: '/nonexistent', dataDir: null, configuration: [], writable: [], hidden: [] },
    door: () => null,
    report: () => undefined,
    ...more,
  })
  onTestFinished(() => made.close())
  return made
}

function makeHome(below = tmpdir()): string {
  const home = realpathSync(mkdtempSync(join(below, 'tieline-home-')))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  for (const path of ['.ssh', '.config/tieline', '.config/gh', 'project', 'data'])
    mkdirSync(join(home, path), { recursive: true })
  writeFileSync(join(home, '.bashrc'), '')
  return home
}

test('programs on the PATH are seen although they are below /tmp, but not what is beside them', () => {
  const home = makeHome('/tmp')
  const [cwd, bin] = [join(home, 'project'), join(home, 'bin')]
  for (const path of [bin, join(cwd, 'bin')]) mkdirSync(path)
  const path = `${bin}:${join(cwd, 'bin')}:${join(home, '.ssh')}:relative:/usr/bin`
  const options = { home, dataDir: null, configuration: [], writable: [], hidden: [] }
  const { seen } = findPlaces(cwd, { ...options, path })
  expect(seen.filter((one) => one.startsWith(home))).toEqual([bin])
})

test('a driven agent finds the program that calls us also where this package is below /tmp', () => {
  const home = makeHome('/tmp')
  const copy = join(home, 'package')
  for (const file of ['package.json', 'src/own-files.ts', 'src/adapters/sandbox/places.ts'])
    cpSync(join(packageDir, file), join(copy, file))
  const options = { home, dataDir: null, configuration: [], writable: [], hidden: [] }
  const script = `
    const { findPlaces } = await import(${JSON.stringify(join(copy, 'src/adapters/sandbox/places.ts'))})
    console.log(JSON.stringify(findPlaces('/', ${JSON.stringify(options)}).seen))`
  const seen = execFileSync(process.execPath, ['--input-type=module', '-e', script], { env: {} })
  expect(JSON.parse(String(seen))).toContain(copy)
})

describe('without a sandbox on this machine', () => {
  const find = async (): Promise<Found> => none

  test('auto starts programs as they are', async () => {
    expect(await launcher({ find }).wrap(command, { sandbox: undefined, turn: null })).toEqual({
      ...command,
      sandboxed: false,
    })
  })

  test('required refuses to start anything, for the server and for one agent', async () => {
    const tries = [
      await launcher({ find, mode: 'required' }).wrap(command, { sandbox: undefined, turn: null }),
      await launcher({ find }).wrap(command, { sandbox: 'required', turn: null }),
    ]
    for (const answer of tries) {
      expect(answer).toMatchObject({ code: 'cannot_restrict' })
      expect(isRefusal(answer) && explain(answer)).toContain('bwrap is missing')
    }
  })

  test('off never looks for one', async () => {
    const never = (): Promise<never> => Promise.reject(new Error('it looked'))
    const answer = await launcher({ find: never, mode: 'off' }).wrap(command, {
      sandbox: undefined,
      turn: null,
    })
    expect(answer).toMatchObject({ sandboxed: false })
  })
})

test('a turn gets its token and the address of the server; nothing gets them without a turn', async () => {
  const door = {
    url: 'http://127.0.0.1:1',
    mint: () => 'tlt_x',
    handle: () => undefined,
    upgrade: () => undefined,
  }
  const made = launcher({ mode: 'off', door: () => door })
  expect(await made.wrap(command, { sandbox: undefined, turn: 'turn_1' })).toMatchObject({
    env: { PATH: '/bin', TIELINE_TOKEN: 'tlt_x', TIELINE_SERVER: 'http://127.0.0.1:1' },
  })
  expect(await made.wrap(command, { sandbox: undefined, turn: null })).toMatchObject({ env: command.env })
})

describe('places', () => {
  const options = (home: string) => ({
    home,
    dataDir: join(home, 'data'),
    configuration: [join(home, '.config/tieline')],
    writable: [],
    hidden: [],
  })

  test('in a project only the project is writable, and keys are hidden', () => {
    const home = makeHome()
    const places = findPlaces(join(home, 'project'), options(home))
    expect(places.writable).toEqual([join(home, 'project')])
    expect(places.kept).toEqual([])
    const hidden = places.hidden.map(({ path }) => path)
    expect(hidden).toEqual(
      expect.arrayContaining([join(home, '.ssh'), join(home, '.config/gh'), join(home, 'data')]),
    )
  })

  test('in the home directory, what programs start with stays read-only, and keys stay hidden', () => {
    const home = makeHome()
    const places = findPlaces(home, options(home))
    const kept = [join(home, '.config/tieline'), join(home, '.bashrc'), join(home, '.config')]
    expect(places.kept).toEqual(kept)
    expect(places.hidden.map(({ path }) => path)).toContain(join(home, 'data'))
  })

  test('a session in the root directory may write nowhere', () => {
    expect(findPlaces('/', options(makeHome())).writable).toEqual([])
  })

  test('a session below a hidden place sees only itself of it; links are followed first', () => {
    const home = makeHome()
    mkdirSync(join(home, 'data/inner'))
    symlinkSync(join(home, 'data/inner'), join(home, 'link'))
    const places = findPlaces(join(home, 'link'), options(home))
    expect(places.cwd).toBe(join(home, 'data/inner'))
    expect(places.hiddenAbove.map(({ path }) => path)).toEqual([join(home, 'data')])
    // In its own data directory a session has nothing at all.
    expect(findPlaces(join(home, 'data'), options(home)).hidden.map(({ path }) => path)).toContain(
      join(home, 'data'),
    )
  })
})

test('the way out never leads to this machine, and to the local network only where that is allowed', () => {
  const own = [
    '127.0.0.1',
    '127.9.9.9',
    '0.0.0.0',
    '::1',
    '::',
    '169.254.169.254',
    'fe80::1',
    '::ffff:127.0.0.1',
  ]
  const tricks = ['::ffff:7f00:1', '64:ff9b::7f00:1', '2002:7f00:1::']
  for (const address of [...own, ...tricks])
    expect([address, mayReach('any', address), mayReach('public', address)]).toEqual([address, false, false])
  for (const address of ['10.0.0.1', '192.168.1.1', '172.16.0.1', '100.64.0.1', 'fd00::1'])
    expect([address, mayReach('any', address), mayReach('public', address)]).toEqual([address, true, false])
  for (const address of ['93.184.216.34', '2606:4700::1111'])
    expect([address, mayReach('public', address), mayReach('none', address)]).toEqual([address, true, false])
})

test('the filter is known for two machines, and is whole', () => {
  for (const machine of ['x64', 'arm64']) expect((describeFilter(machine)?.program.length ?? 1) % 16).toBe(0)
  expect(describeFilter('mips')).toBeNull()
})

test('the profile for macOS allows the session’s directory and the server, and nothing else on loopback', () => {
  const places = {
    cwd: '/work',
    temporary: [],
    writable: ['/work'],
    hiddenAbove: [],
    hidden: [
      { path: '/home/me/.ssh', isDirectory: true },
      { path: '/work/"data"', isDirectory: true },
    ],
    kept: ['/work/.config'],
    own: [],
    seen: [],
  }
  const profile = writeProfile(places, '/tmp/own', 8283, 'public').split('\n')
  const at = (line: string): number => profile.indexOf(line)
  expect(at('(deny file-write*)')).toBeGreaterThan(0)
  expect(at('(allow file-read* file-write* (subpath "/work") (subpath "/tmp/own"))')).toBeGreaterThan(
    at('(deny file-write*)'),
  )
  expect(at('(deny file-write* (subpath "/work/.config"))')).toBeGreaterThan(0)
  expect(at(String.raw`(deny file-read* file-write* (subpath "/work/\"data\""))`)).toBeGreaterThan(0)
  const refused = at('(deny network-outbound (remote ip "localhost:*"))')
  expect(at('(allow network-outbound (remote ip "localhost:8283"))')).toBeGreaterThan(refused)
  expect(writeProfile(places, '/tmp/own', 8283, 'none')).not.toContain('"*:*"')
})

test('what stays open is said: where the system cannot tell who asks, and where there is no sandbox', () => {
  expect(describePeers({ auth: 'open', platform: 'linux' })).toBeNull()
  expect(describePeers({ auth: 'tokens', platform: 'darwin' })).toBeNull()
  expect(describePeers({ auth: 'open', platform: 'darwin' })).toContain('auth = "on"')
  const [coder, reader] = [
    Agent.parse({ name: 'coder', tools: ['shell'] }),
    Agent.parse({ name: 'reader', tools: ['read'] }),
  ]
  const open = { auth: 'open', platform: 'linux', mode: 'auto', agents: [coder, reader] } as const
  expect(describeUnconfined(open, none)).toContain('programs of coder run as you')
  expect(describeUnconfined(open, { kind: 'seatbelt' })).toBeNull()
  expect(describeUnconfined({ ...open, mode: 'off' }, { kind: 'seatbelt' })).toContain('sandbox = "off"')
  expect(describeUnconfined({ ...open, agents: [reader] }, none)).toBeNull()
  expect(describeUnconfined({ ...open, agents: [{ ...coder, sandbox: 'required' }] }, none)).toBeNull()
})
