/** The tree as lines of a terminal: two for each turn, its task and what it does, with time and tokens. Pure. */
import { sumMoney } from './cost.ts'
import { describeEnd, formatCount, formatDuration, formatTimeLeft } from './amounts.ts'
import { joinSegments, segment, type Segment, type Style } from './segment.ts'
import { formatUsd } from '../../model/money.ts'
import { listChildren, listRoots, sumTokens, waitedFor, type Tree, type TreeNode } from './tree.ts'
import { displayWidth, firstLine, lastLine, oneLine } from './width.ts'

export type View = { width: number; rows: number; colour: boolean }

const spinner = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
export const spinnerMs = 100
const namesMax = 24

export function renderTree(tree: Tree, now: number, view: View): string[] {
  const whole = renderRoots({ tree, now, view, detail: 'all' })
  if (whole.length <= view.rows) return whole
  const short = renderRoots({ tree, now, view, detail: 'running' })
  if (short.length <= view.rows) return short
  // The newest is at the bottom, where people look.
  const kept = short.slice(short.length - Math.max(1, view.rows - 1))
  return [joinSegments(view, [segment(`… ${short.length - kept.length} lines above`, 'dim')]), ...kept]
}

/** `detail` says which turns get their second line. */
type Drawing = { tree: Tree; now: number; view: View; detail: 'all' | 'running' }

const renderRoots = (drawing: Drawing): string[] =>
  listRoots(drawing.tree).flatMap((root) => renderNode(drawing, root, '', '', displayWidth(root.agent)))

function renderNode(
  drawing: Drawing,
  node: TreeNode,
  first: string,
  rest: string,
  nameWidth: number,
): string[] {
  const { tree, view, detail } = drawing
  if (view.width <= 0) return []
  const children = listChildren(tree, node)
  const lines = [renderHead(drawing, node, first, nameWidth)]
  if (detail === 'all' || node.state !== 'ended')
    lines.push(renderBelow(drawing, node, `${rest}${children.length > 0 ? '│ ' : '  '}`))
  const widths = children.map((child) => displayWidth(oneLine(child.agent)))
  const childWidth = Math.min(namesMax, Math.max(0, ...widths))
  return lines.concat(
    children.flatMap((child, index) => {
      const [branch, below] = index === children.length - 1 ? ['└─', '  '] : ['├─', '│ ']
      return renderNode(drawing, child, `${rest}${branch}`, `${rest}${below}`, childWidth)
    }),
  )
}

function renderHead({ tree, now, view }: Drawing, node: TreeNode, branch: string, nameWidth: number): string {
  const [mark, style] = chooseMark(tree, node, now)
  const name = oneLine(node.agent)
  const left: Segment[] = [
    segment(branch, 'dim'),
    segment(`${mark} `, style),
    segment(name, 'bold'),
    segment(' '.repeat(Math.max(0, nameWidth - displayWidth(name)) + 2)),
    segment(firstLine(node.task)),
  ]
  const time = segment(formatDuration((node.endedAt ?? now) - node.openedAt).padStart(6))
  const tokens = `${formatCount(sumTokens(tree, node)).padStart(8)} ${view.width < 60 ? 'tok' : 'tokens'}`
  const money = sumMoney(tree, node)
  const cost = money === 0 || view.width < 60 ? '' : `  ${formatUsd(money)}`
  return joinSegments(view, left, view.width < 40 ? [time] : [time, segment(`${tokens}${cost}`, 'dim')])
}

function renderBelow({ tree, now, view }: Drawing, node: TreeNode, branch: string): string {
  const left = [segment(`${branch}  `, 'dim'), ...describeNode(tree, node)]
  if (node.state === 'ended' || node.deadline === null || view.width < 40) return joinSegments(view, left)
  const leftMs = node.deadline - now
  return joinSegments(view, left, [segment(formatTimeLeft(leftMs), leftMs < 10_000 ? 'yellow' : 'dim')])
}

function chooseMark(tree: Tree, node: TreeNode, now: number): [string, Style] {
  if (node.state === 'ended') return node.outcome === 'completed' ? ['✓', 'green'] : ['✗', 'red']
  if (node.state === 'queued') return ['·', 'dim']
  if (waitedFor(tree, node).length > 0) return ['‖', 'yellow']
  return [spinner[Math.floor(now / spinnerMs) % spinner.length] ?? '·', 'cyan']
}

function describeNode(tree: Tree, node: TreeNode): Segment[] {
  if (node.state === 'ended') return describeEnding(node)
  if (node.stopping !== null) return [segment('stopping', 'yellow')]
  if (node.state === 'queued') return [segment('waits for its turn', 'dim')]
  if (node.asking !== null) return [segment(`asks whether it may use ${oneLine(node.asking)}`, 'yellow')]
  const awaited = waitedFor(tree, node)
  if (awaited.length > 0)
    return [segment(`waits for ${awaited.map((child) => oneLine(child.agent)).join(', ')}`, 'dim')]
  const tools = node.round.flatMap(({ words, failed }, index) => [
    segment(index === 0 ? '' : ', ', 'dim'),
    segment(words, 'cyan'),
    segment(failed ? ' ✗' : '', 'red'),
  ])
  const saying = tree.saying.get(node.id)
  if (saying !== undefined && saying.remark !== '') return [segment(oneLine(saying.remark), 'yellow')]
  const said = lastLine(saying?.text ?? '')
  return [
    ...tools,
    segment(tools.length > 0 && said !== '' ? ' · ' : '', 'dim'),
    segment(said === '' && tools.length === 0 ? 'thinking' : said, 'dim'),
  ]
}

function describeEnding(node: TreeNode): Segment[] {
  const said = firstLine(node.output)
  const before =
    node.outcome === 'completed'
      ? segment(node.toolsUsed.join(', '), 'dim')
      : segment(describeEnd(node.outcome ?? 'failed', node.errors[0] ?? null), 'red')
  return [before, segment(`${before.text === '' || said === '' ? '' : ' · '}${said}`, 'dim')]
}
