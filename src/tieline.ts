import type { Tieline, TielineOptions } from './line.ts'
import { openLine, type OpenLine } from './open-line.ts'

/**
 * Opens a line between the agents that you define, inside this process. With a `dataDir` it goes on with what
 * an earlier process left there. Throws an OptionsError, a ConfigError or a StoreFault.
 */
export const tieline = async (options: TielineOptions = {}): Promise<Tieline> =>
  hideParts(await openLine(options))

/** The parts are not for programs: they may change with every version. */
export function hideParts({
  store: _store,
  desks: _desks,
  hosts: _hosts,
  book: _book,
  launcher: _launcher,
  ...line
}: OpenLine): Tieline {
  return line
}
