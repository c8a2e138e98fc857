/** Looking after a log that nothing runs on: whether it is whole, and its views anew. */
import { checkLog, type LogCheck } from './store/check-log.ts'
import { rebuildLog, type LogRebuild, type RebuildOptions } from './store/rebuild-log.ts'
import type { Watched } from './store/rebuild.ts'

export type LogCare = {
  check(file: string, watched?: Watched): Promise<LogCheck>
  rebuild(options: RebuildOptions): Promise<LogRebuild>
}

export const logCare: LogCare = { check: checkLog, rebuild: rebuildLog }
