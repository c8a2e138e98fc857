/** R11: runs of a turn that ended with their process, and recorded and awaited nothing. */
import type { NodeId } from '../src/model/id.ts'

/** How many of its newest runs were such, and who ran it before its present node did. */
export type QuietRuns = { runs: number; nodeBefore: NodeId | null }

/** When `heir` takes a turn from `node`. One that takes its own turn back had not ended. */
export function countQuietRuns(
  { runs, nodeBefore }: QuietRuns,
  isQuiet: boolean,
  node: NodeId | null,
  heir: NodeId,
): QuietRuns {
  const before = nodeBefore === heir ? 0 : runs
  return { runs: isQuiet && node !== heir ? before + 1 : 0, nodeBefore: node }
}
