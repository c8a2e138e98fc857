import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { hashBytes, readConfigText } from './config-text.ts'

test('what some editors put before a text is not part of it, and is part of what was agreed to', () => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'tieline-text-')))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'tieline.toml')
  const text = '[agents.one]\nprompt = "x \uFEFF y"\n'
  writeFileSync(path, `\uFEFF${text}`)
  expect(readConfigText(path)).toEqual({ path, text, hash: hashBytes(`\uFEFF${text}`) })
})
