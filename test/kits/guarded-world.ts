/** A world on disk whose record is guarded, and secrets of each kind that must not reach it. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import { syncedAtOnce, virtualClock, world, type World } from './world.ts'
import { sqliteStore, type SqliteStore } from '../../src/store/sqlite.ts'
import type { Tool } from '../../src/runtime/kernel/ports.ts'
import { secretGuard } from '../../src/runtime/kernel/secret-guard.ts'

export const shaped = `sk-${'a1B2'.repeat(6)}`

export const ofVariable = 'correct-horse-9'

export const named = 'hunter2hunter2'

export const env = { SERVICE_TOKEN: ofVariable, HOME: '/home/me' }

export const made: string[] = []

afterEach(() => {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true })
})

export function guardedWorld(
  agents: Parameters<typeof world>[0]['agents'],
  tools: readonly Tool[] = [],
): Promise<World & { bytes(): string; store: SqliteStore }> {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-guard-'))
  made.push(directory)
  const clock = virtualClock()
  const guard = secretGuard({ env })
  const store = sqliteStore({ directory, now: () => clock.now(), cleaner: guard, openSync: syncedAtOnce })
  /** Everything that is on disk: the database, its log, whatever else lies there. */
  const bytes = (): string =>
    readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
      .join('\n')
  return world({ agents, tools, store, clock }).then((w) => ({ ...w, bytes, store }))
}

export const leaky: Tool = {
  name: 'leaky',
  effect: 'read',
  calling: false,
  describe: () => ({ name: 'leaky', description: 'reads', input: {} }),
  run: async () => ({ ok: true, value: { text: `SERVICE=${ofVariable}\nkey ${shaped}`, password: named } }),
}
