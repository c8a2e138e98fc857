import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { append, created, sent } from '../../test/kits/store.ts'
import { damageIn } from './file-check.ts'
import { sqliteStore, type SqliteStore } from './sqlite.ts'

const now = (): number => 0
const names = ['tieline.db', 'tieline.db-wal']

function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-check-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return directory
}

/** Long enough not to be looked through at every start. `killed` is as it is after a kill -9. */
async function makeLong(end: 'closed' | 'killed'): Promise<string> {
  const [directory, copied] = [scratch(), scratch()]
  const first = sqliteStore({ directory, now })
  await append(first, created('ses_a'))
  await Promise.all(
    Array.from({ length: 2400 }, (_, n) =>
      append(first, sent('ses_a', `turn_${n}`, { text: `text ${n} `.repeat(400) })),
    ),
  )
  await first.close()
  expect(statSync(join(directory, 'tieline.db')).size).toBeGreaterThan(8 * 1024 * 1024)
  if (end === 'closed') return directory
  const second = sqliteStore({ directory, now })
  await append(second, created('ses_b'))
  for (const name of names) cpSync(join(directory, name), join(copied, name))
  await second.close()
  return copied
}

/** The page of a row in the middle, between two of those that every start looks at. */
function damage(directory: string): void {
  const file = join(directory, 'tieline.db')
  const bytes = readFileSync(file)
  const at = bytes.indexOf('text 1214 text 1214')
  const page = Math.floor(at / 4096) * 4096
  bytes.fill(0xa5, page, page + 64)
  writeFileSync(file, bytes)
}

async function settle(store: SqliteStore): Promise<ReturnType<SqliteStore['health']>> {
  for (let tries = 0; tries < 1000; tries += 1) {
    const health = store.health()
    if (health.state !== 'ok' || health.checking === undefined) return health
    await sleep(10)
  }
  throw new Error('the check does not end')
}

test('after a kill a long log is used at once, looked through meanwhile, and said to be so', async () => {
  const store = sqliteStore({ directory: await makeLong('killed'), now })
  expect(store.health()).toMatchObject({ state: 'ok', checking: { done: 0 } })
  await append(store, created('ses_c'))
  expect(await settle(store)).toEqual({ state: 'ok' })
  await append(store, created('ses_d'))
  await store.close()
})

test('a long log that was damaged when its process died is found out, and no more is recorded', async () => {
  const directory = await makeLong('killed')
  damage(directory)
  const store = sqliteStore({ directory, now })
  const health = await settle(store)
  expect(health).toMatchObject({ state: 'unavailable', refusal: { code: 'store_unavailable' } })
  expect(health.state === 'unavailable' && health.refusal.reason).toMatch(/damaged/)
  await expect(append(store, created('ses_c'))).rejects.toMatchObject({
    refusal: { code: 'store_unavailable' },
  })
  await store.close()
})

test('a long log that was closed is not looked through: its start does not depend on its length', async () => {
  const directory = await makeLong('closed')
  const store = sqliteStore({ directory, now })
  expect(store.health()).toEqual({ state: 'ok' })
  await store.close()
})

test('whoever asks for it has the file looked through', async () => {
  const directory = await makeLong('closed')
  expect(damageIn(directory)).toBeNull()
  damage(directory)
  expect(damageIn(directory)).not.toBeNull()
})

test('a store that is closed while its file is looked through lets it go', async () => {
  const directory = await makeLong('killed')
  await sqliteStore({ directory, now }).close()
  const again = sqliteStore({ directory, now })
  expect(again.health()).toEqual({ state: 'ok' })
  await again.close()
})
