import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { mailed } from '../../test/kits/store.ts'
import type { SessionId } from '../model/id.ts'
import { catchUp, type Reading } from './mail-reader.ts'

test('the place in the log is kept where any of the sessions of a page has new mail', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-reader-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const to = (session: SessionId, seq: number) => ({ seq, at: 0, event: mailed('ses_x', session, `m${seq}`) })
  const events = [to('ses_a', 1), to('ses_b', 2)]
  const reading = {
    deps: {
      storage: 'files',
      directory,
      tracing: false,
      store: { lastSeq: () => 2, read: async () => ({ events, next: 2, more: false, units: 0 }) },
      // What was sent to the other has gone elsewhere meanwhile.
      mail: { get: async (id: string) => ({ id, to: 'ses_a', from: 'ses_x', draft: false }) },
      clock: { sleep: async () => undefined },
    },
    storage: { tools: false, check: async () => 0, apply: async () => undefined },
    log: 'log',
    cursor: { seq: 0, sessions: new Map() },
    written: 0,
    broken: new Set(),
    warn: (text: string) => expect(text).toBe(''),
    closing: new AbortController().signal,
  } as unknown as Reading
  await catchUp(reading)
  expect([reading.cursor.seq, reading.written]).toEqual([2, 2])
})
