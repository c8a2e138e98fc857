/**
 * The configuration of one directory as it is on disk. It is read again when anything has changed that it
 * consists of: its own file, the files that it imports, and the agreement of a person.
 */
import { realpathSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describeUntrusted, readConfig, type Config } from '../config.ts'
import { withFiles, type ConfigFiles, type ConfigSource } from '../config-file.ts'
import { listImported } from '../config-imports.ts'
import { ConfigError, describeFault } from '../config-path.ts'
import type { UntrustedProject } from '../model/untrusted.ts'
import { configNames, readConfigIn } from '../trust/config-text.ts'
import { isTrusted, readTrusted, trustDirectory, trustedFile } from '../trust/trust-store.ts'

export type ProjectFiles =
  | { state: 'used'; file: string; config: Config }
  | { state: 'new' | 'changed'; file: string; untrusted: UntrustedProject }
  | { state: 'broken'; file: string; problem: string; untrusted: UntrustedProject }

/** What is written twice within one tick of the file system's clock looks unchanged. */
const tickMs = 50

/** What changes when one of the paths does. Null: it changed so lately that another change would not show. */
export function stampFiles(paths: readonly string[], now: number): string | null {
  const stats = paths.map((path) => statSync(path, { bigint: true, throwIfNoEntry: false }))
  if (stats.some((stat) => stat !== undefined && Math.abs(now - Number(stat.mtimeMs)) < tickMs)) return null
  return stats
    .map((stat) => (stat === undefined ? '-' : [stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(':')))
    .join(' ')
}

/** Everything that a configuration consists of, as far as it is known. */
export function listParts(directory: string, used: ConfigFiles | null, source: ConfigSource): string[] {
  const store = trustDirectory(source.env, source.home)
  const candidates = configNames.map((name) => join(directory, name))
  return [
    ...candidates,
    ...candidates.map((path) => trustedFile(store, path)),
    ...(used === null ? [] : listImported(used, source.home)),
    ...(used?.imports ?? []).map(({ path }) => path),
  ]
}

/** Null where there is none any more. Never throws: what is wrong with it is its state. */
export function readProject(
  directory: string,
  own: ConfigFiles | null,
  ofUser: Config | null,
  source: ConfigSource,
): { used: ConfigFiles | null; files: ProjectFiles | null } {
  let used: ConfigFiles | null = null
  try {
    const found = readConfigIn(directory)
    if (found === null) return { used, files: null }
    used = withFiles(found.used, source.home)
    const before = readTrusted(trustDirectory(source.env, source.home), used.path)
    if (!isTrusted(before, [used, ...used.imports])) {
      const untrusted = describeUntrusted({ file: used, before }, ofUser?.agents)
      const state = before === null ? 'new' : 'changed'
      return { used, files: { state, file: used.path, untrusted } }
    }
    const config = readConfig(used, own, source, ofUser?.agents)
    return { used, files: { state: 'used', file: used.path, config } }
  } catch (error) {
    const file = used?.path ?? join(directory, configNames[0])
    const problem = error instanceof ConfigError ? error.problems.join(' ') : describeFault(error)
    return { used, files: breakProject(file, problem) }
  }
}

export const breakProject = (file: string, problem: string): Extract<ProjectFiles, { state: 'broken' }> => ({
  state: 'broken',
  file,
  problem,
  untrusted: { file, state: 'broken', agents: [], problem },
})

export function sameFiles(a: ConfigFiles | null, b: ConfigFiles | null): boolean {
  const list = (files: ConfigFiles | null): string =>
    files === null ? '' : [files, ...files.imports].map(({ path, hash }) => `${path} ${hash}`).join('\n')
  return list(a) === list(b)
}

/** What is not there any more stays as it is spelled. */
export function toReal(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return resolve(path)
  }
}
