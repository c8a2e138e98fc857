/** Looking after a log that nothing runs on: whether it is whole, its views anew, and moving it. */
import {
  archiveLog,
  previewLog,
  type ArchivedLog,
  type ArchiveOptions,
  type ArchivePreview,
} from './store/archive/archive-log.ts'
import { checkLog, type LogCheck } from './store/check-log.ts'
import { damageIn } from './store/file-check.ts'
import { rebuildLog, type LogRebuild, type RebuildOptions } from './store/rebuild-log.ts'
import { findAddress } from './store/postgres/address.ts'
import type { CareOptions } from './store/postgres/care.ts'
import type { Moved, MoveOptions } from './store/postgres/move-log.ts'
import type { Watched } from './store/rebuild.ts'

export type LogCare = {
  /** What SQLite finds wrong with the file in a data directory; null where it finds nothing. */
  findDamage(directory: string): string | null
  check(file: string, watched?: Watched): Promise<LogCheck>
  rebuild(options: RebuildOptions): Promise<LogRebuild>
  /** The same for a log in PostgreSQL. */
  checkCluster(options: CareOptions): Promise<LogCheck>
  rebuildCluster(options: CareOptions): Promise<LogRebuild>
  /** What would leave the log for segments, and moving it there. */
  previewArchive(options: ArchiveOptions): Promise<ArchivePreview>
  archive(options: ArchiveOptions): Promise<ArchivedLog>
  move(to: 'postgres' | 'sqlite', options: MoveOptions): Promise<Moved>
  findAddress(urlEnv: string, env: Readonly<Record<string, string | undefined>>): string
}

/** What PostgreSQL needs is loaded where it is used. */
export const logCare: LogCare = {
  findDamage: damageIn,
  check: checkLog,
  rebuild: rebuildLog,
  previewArchive: previewLog,
  archive: archiveLog,
  checkCluster: async (options) => (await import('./store/postgres/care.ts')).checkCluster(options),
  rebuildCluster: async (options) => (await import('./store/postgres/care.ts')).rebuildCluster(options),
  async move(to, options) {
    const { moveToPostgres, moveToSqlite } = await import('./store/postgres/move-log.ts')
    return to === 'postgres' ? moveToPostgres(options) : moveToSqlite(options)
  },
  findAddress,
}
