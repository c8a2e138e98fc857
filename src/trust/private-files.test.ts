import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { isOpenToOthers } from './private-files.ts'

test.skipIf(process.platform === 'win32')(
  'a file that a group may do anything with is open to others',
  () => {
    const directory = mkdtempSync(join(tmpdir(), 'tieline-modes-'))
    onTestFinished(() => rmSync(directory, { recursive: true }))
    const path = join(directory, 'token')
    writeFileSync(path, 'x')
    const isOpen = (mode: number): boolean => (chmodSync(path, mode), isOpenToOthers(path))
    expect([0o600, 0o400, 0o700].map(isOpen)).toEqual([false, false, false])
    expect([0o640, 0o620, 0o610, 0o604, 0o602, 0o601].map(isOpen)).not.toContain(false)
    expect(isOpenToOthers(join(directory, 'nothing'))).toBe(false)
  },
)
