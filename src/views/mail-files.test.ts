import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { mailFiles } from './mail-files.ts'

test('a file that a crash left half written is no message, and everything else that lies there is damage', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-mail-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const files = mailFiles(directory)
  const messages = [{ id: 'm1', text: '{"text":"hello"}\n' }]
  await files.apply('ses_a', 'log', { seq: 7, fresh: true, messages, tools: [] })
  const check = (): Promise<number | null> => files.check('ses_a', 'log')
  expect(await check()).toBe(7)
  writeFileSync(join(directory, 'ses_a', 'm2.json.new'), '{"te')
  expect(await check()).toBe(7)
  writeFileSync(join(directory, 'ses_a', 'notes.txt'), 'x')
  expect(await check()).toBeNull()
})
