import { chmodSync, chownSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import {
  actsForAgent,
  forgetTrusted,
  isTrusted,
  listTrusted,
  readTrusted,
  rememberTrusted,
  trustedFile,
} from './trust-store.ts'

const reach = { runs: [], sends: [], keys: [], writes: [] }
const files = [
  { path: '/work/tieline.toml', hash: 'a' },
  { path: '/work/agents/coder.md', hash: 'b' },
]

function makeStore(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-trust-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return join(directory, 'trusted')
}

test('a configuration and all that it imports are one unit: a change of any file voids the agreement', () => {
  const store = makeStore()
  rememberTrusted(store, { file: '/work/tieline.toml', files, reach, at: 1 })
  const known = readTrusted(store, '/work/tieline.toml')
  const [main, imported] = files as [(typeof files)[0], (typeof files)[0]]
  expect(isTrusted(known, [imported, main])).toBe(true)
  for (const changed of [
    [main, { ...imported, hash: 'changed' }],
    [{ ...main, hash: 'changed' }, imported],
    [main],
    [main, imported, { path: '/work/agents/more.md', hash: 'c' }],
    [main, { ...imported, path: '/work/agents/other.md' }],
    [main, main],
  ])
    expect(isTrusted(known, changed)).toBe(false)
  expect(isTrusted(null, files)).toBe(false)
})

test('agreements do not overwrite each other, and are taken back one by one', () => {
  const store = makeStore()
  for (const file of ['/a/tieline.toml', '/b/tieline.toml'])
    rememberTrusted(store, { file, files, reach, at: 1 })
  expect(listTrusted(store).map(({ file }) => file)).toEqual(['/a/tieline.toml', '/b/tieline.toml'])
  expect(forgetTrusted(store, '/a/tieline.toml')).toBe(true)
  expect(forgetTrusted(store, '/a/tieline.toml')).toBe(false)
  expect(readTrusted(store, '/a/tieline.toml')).toBe(null)
  expect(readTrusted(store, '/b/tieline.toml')).not.toBe(null)
})

test('an agreement that lies in the place of another counts for neither', () => {
  const store = makeStore()
  rememberTrusted(store, { file: '/a/tieline.toml', files, reach, at: 1 })
  renameSync(trustedFile(store, '/a/tieline.toml'), trustedFile(store, '/b/tieline.toml'))
  expect(readTrusted(store, '/a/tieline.toml')).toBe(null)
  expect(readTrusted(store, '/b/tieline.toml')).toBe(null)
})

test('a process that has the token of a session or a turn acts for an agent; the user does not', () => {
  expect(actsForAgent({ ANYTHING: 'tlt_turn_1.AbC-_9' })).toBe(true)
  expect(actsForAgent({ TIELINE_TOKEN: 'tls_ses_1.AbC' })).toBe(true)
  expect(actsForAgent({ TIELINE_TOKEN: 'tlu_AbC', OTHER: 'tls_', NONE: undefined })).toBe(false)
})

test('an agreement belongs to the user alone; one that others could have written is not believed', () => {
  const store = makeStore()
  const file = '/a/tieline.toml'
  rememberTrusted(store, { file, files, reach, at: 1 })
  const [name = ''] = readdirSync(store)
  const entry = join(store, name)
  expect([statSync(store).mode & 0o777, statSync(entry).mode & 0o777]).toEqual([0o700, 0o600])
  expect(readTrusted(store, file)).not.toBe(null)
  for (const mode of [0o620, 0o602]) {
    chmodSync(entry, mode)
    expect(readTrusted(store, file)).toBe(null)
  }
  chmodSync(entry, 0o600)
  renameSync(entry, `${store}-moved`)
  symlinkSync(`${store}-moved`, entry)
  expect(readTrusted(store, file)).toBe(null)
  writeFileSync(`${store}-moved`, 'garbage')
  renameSync(`${store}-moved`, entry)
  expect([readTrusted(store, file), listTrusted(store)]).toEqual([null, []])
})

test.skipIf(process.getuid?.() !== 0)(
  'an agreement that another user has written is not believed (needs root: it makes such a file)',
  () => {
    const store = makeStore()
    rememberTrusted(store, { file: '/a/tieline.toml', files, reach, at: 1 })
    const [name = ''] = readdirSync(store)
    chownSync(join(store, name), 65534, 65534)
    expect(readTrusted(store, '/a/tieline.toml')).toBe(null)
  },
)
