/** What is printed when a run is over. Pure. */
import type { Outcome } from '../../model/event.ts'
import { countWords, endWords, timeWords } from './amounts.ts'
import { isSilent, wantsLive, type CommandInput } from '../command.ts'
import { displayWidth, oneLine } from './width.ts'
import { buildNodes, sumTokens, type Tree } from './tree.ts'

/**
 * How it ended, in the last line. Why stands there only where it was not shown above: in plain lines where
 * `inLines`, in the tree of a terminal where it was not cut.
 */
export function lastWords(
  input: Pick<CommandInput, 'flags' | 'env' | 'err'>,
  agent: string,
  { outcome, error }: { outcome: Outcome; error: string | null },
  inLines: boolean,
): string {
  const { err, env } = input
  const words = endWords(outcome, error)
  const seen =
    !isSilent(input) &&
    (wantsLive(err, env) ? displayWidth(words) + branchWidth < (err.columns ?? 80) : inLines)
  return `tieline: ${oneLine(agent)}: ${seen ? endWords(outcome, null) : words}\n`
}
const branchWidth = 8

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
  /** What the reviewer returned, as it satisfied its schema; null where it did not come so far. */
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

export const overheadPercent = (together: number, alone: number): number =>
  Math.round(((together - alone) / alone) * 1000) / 10

export function demoLines(report: DemoReport): string[] {
  const rows: [string, string][] = report.success
    ? [['Result', report.output]]
    : [['Ended', endWords(report.outcome, report.error)]]
  if (report.review !== null)
    rows.push([
      'Review',
      `${report.review.approved ? 'approved' : 'not approved'}, its own run of the tests gave exit code ${report.review.exit_code}`,
    ])
  rows.push(['Workspace', report.workspace], ['', report.files.join(', ')], ['Log', report.log])
  rows.push(['Spent', `${countWords(report.tokensUsed)} tokens, ${timeWords(report.durationMs)}`])
  if (report.alone !== null && report.overheadPercent !== null) {
    const { tokensUsed } = report.alone
    rows.push([
      'Overhead',
      `${signed(report.overheadPercent)} %: ${countWords(report.tokensUsed)} tokens by three agents, ${countWords(tokensUsed)} by one agent alone`,
    ])
  }
  return rows.map(([name, value]) => `${name.padEnd(10)} ${value}`)
}

const signed = (percent: number): string => `${percent > 0 ? '+' : ''}${percent.toFixed(1)}`
