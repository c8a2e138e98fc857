/**
 * Where the files of this package are, for whatever is started or read by its path: as written in `src`, as
 * built in `dist`, or from the bundle there.
 */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The nearest folder upwards that has a package.json: the bundle lies deeper than what it is made of. */
function packageDirOf(directory: string): string {
  return existsSync(join(directory, 'package.json')) || dirname(directory) === directory
    ? directory
    : packageDirOf(dirname(directory))
}

export const packageDir = packageDirOf(import.meta.dirname)
const isSource = import.meta.filename.endsWith('.ts')

/** What starts the command line, with whatever version of Node that is new enough. */
export const ownProgram = isSource
  ? join(packageDir, 'src', 'cli', 'main.ts')
  : join(packageDir, 'bin', 'tieline.js')

/** A module of ours by its name without ending, such as `tools/search-worker`. */
export const ownFile = (name: string): string =>
  join(packageDir, isSource ? 'src' : 'dist', `${name}.${isSource ? 'ts' : 'js'}`)

/** A log without anything in it, which the build makes. */
export const emptyLogFile = isSource ? null : join(packageDir, 'dist', 'empty-log.db')
