import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { virtualClock } from '../../../test/kits/world.ts'
import { limitBook } from './limit-book.ts'

test('a limit that was over before its time does not come back with a restart', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-limits-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const book = limitBook({ clock: virtualClock(), directory })
  book.note('one', 'over', 90_000)
  await book.close()
  expect(readFileSync(join(directory, 'limits.json'), 'utf8')).toContain('one')
  book.forget('one')
  await book.close()
  expect(readFileSync(join(directory, 'limits.json'), 'utf8')).toBe('{}\n')
})
