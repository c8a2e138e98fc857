/** What is printed when a run is over. Pure. */
import type { Outcome } from '../../model/event.ts'
import { describeEnd, formatCount, formatDuration } from './amounts.ts'
import { isSilent, wantsLive, type CommandInput } from '../command.ts'
import { displayWidth, oneLine } from './width.ts'
import { buildNodes, sumTokens, type Tree } from './tree.ts'

const branchWidth = 8

/**
 * How it ended, for the last line. The cause is left out where it was shown above: in plain lines if
 * `inLines`, or in the tree of a terminal that is wide enough.
 */
export function describeFailure(
  input: Pick<CommandInput, 'flags' | 'env' | 'err'>,
  agent: string,
  { outcome, error }: { outcome: Outcome; error: string | null },
  inLines: boolean,
): string {
  const { err, env } = input
  const whole = describeEnd(outcome, error)
  const fits = displayWidth(whole) + branchWidth < (err.columns ?? 80)
  const isSeen = !isSilent(input) && (wantsLive(err, env) ? fits : inLines)
  return `${oneLine(agent)}: ${isSeen ? describeEnd(outcome, null) : whole}`
}

/** Each call as data, in the order in which they were made, callers first. */
export const collectCalls = (tree: Tree) =>
  buildNodes(tree)
    .filter((node) => node.caller !== null)
    .map((node) => ({
      caller: tree.nodes.get(node.caller ?? '')?.agent ?? null,
      agent: node.agent,
      task: node.task,
      outcome: node.outcome,
      output: node.output,
      errors: node.errors,
      toolCalls: node.toolsUsed,
      tokensUsed: sumTokens(tree, node),
      durationMs: node.endedAt === null ? null : node.endedAt - node.openedAt,
    }))

export type DemoReport = {
  success: boolean
  outcome: Outcome
  output: string
  error: string | null
  /** What the reviewer returned; null where it did not get so far. */
  review: { approved: boolean; exit_code: number; remarks: string[] } | null
  workspace: string
  files: string[]
  log: string
  tokensUsed: number
  durationMs: number
  calls: ReturnType<typeof collectCalls>
  /** The same work by one agent; null where it was not measured. */
  alone: { tokensUsed: number; durationMs: number } | null
  overheadPercent: number | null
}

export function renderReport(report: DemoReport): string[] {
  const { success, output, outcome, error, review, alone, overheadPercent } = report
  const tokens = formatCount(report.tokensUsed)
  const rows: [string, string][] = [success ? ['Result', output] : ['Ended', describeEnd(outcome, error)]]
  if (review !== null) {
    const verdict = review.approved ? 'approved' : 'not approved'
    rows.push(['Review', `${verdict}, its own run of the tests gave exit code ${review.exit_code}`])
  }
  rows.push(['Workspace', report.workspace], ['', report.files.join(', ')], ['Log', report.log])
  rows.push(['Spent', `${tokens} tokens, ${formatDuration(report.durationMs)}`])
  if (alone !== null && overheadPercent !== null) {
    const percent = `${overheadPercent > 0 ? '+' : ''}${overheadPercent.toFixed(1)} %`
    const both = `${tokens} tokens by three agents, ${formatCount(alone.tokensUsed)} by one agent alone`
    rows.push(['Overhead', `${percent}: ${both}`])
  }
  return rows.map(([name, value]) => `${name.padEnd(10)} ${value}`)
}
