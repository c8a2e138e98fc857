import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openLine } from '../../open-line.ts'
import { archive } from './archive.ts'

/** The command on a log in which one request has ended, and what it printed. */
async function recorded() {
  const dataDir = mkdtempSync(join(tmpdir(), 'tieline-archive-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
  const line = await openLine({ dataDir, agents: { echo: { script: ({ task }) => task } } })
  await line.run('echo', 'hello')
  await line.close()
  return async (flags: Record<string, string | true>): Promise<unknown> => {
    const printed: string[] = []
    const out = { write: (text: string) => printed.push(text) > 0, on: () => undefined, off: () => undefined }
    await archive.run({
      words: [],
      flags: { 'data-dir': dataDir, json: true, ...flags },
      env: { XDG_CONFIG_HOME: dataDir },
      out,
      err: out,
      signal: new AbortController().signal,
    })
    return JSON.parse(printed.join(''))
  }
}

test('it says what would be moved of what has ended just now, or a hundred years ago, and moves nothing', async () => {
  const run = await recorded()
  for (const days of ['0', '0.5', '36500'])
    expect(await run({ days, 'dry-run': true })).toMatchObject({ days: Number(days), moved: null })
  for (const days of ['-1', '36501', 'week', ' '])
    await expect(run({ days, 'dry-run': true })).rejects.toThrow('a number of days, such as 30')
})
