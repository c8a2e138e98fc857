import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { rememberTrusted } from './trust-store.ts'

test('agreements are kept where nobody else may put one, also in a directory that was there before', () => {
  const home = mkdtempSync(join(tmpdir(), 'tieline-trust-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const store = join(home, 'trusted')
  mkdirSync(store)
  chmodSync(store, 0o777)
  const reach = { runs: [], sends: [], keys: [], writes: [] }
  rememberTrusted(store, {
    file: '/a/tieline.toml',
    files: [{ path: '/a/tieline.toml', hash: 'a' }],
    reach,
    at: 1,
  })
  expect(statSync(store).mode & 0o777).toBe(0o700)
})
