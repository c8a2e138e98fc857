import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { logState } from './place.ts'

test('a log of no bytes has lost what was in it, unless all of it is in the file beside it still', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-place-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  expect(logState(directory)).toBe('none')
  writeFileSync(join(directory, 'tieline.db'), '')
  expect(logState(directory)).toBe('emptied')
  writeFileSync(join(directory, 'tieline.db-wal'), 'x')
  expect(logState(directory)).toBe('there')
  writeFileSync(join(directory, 'tieline.db'), 'x')
  expect(logState(directory)).toBe('there')
})
