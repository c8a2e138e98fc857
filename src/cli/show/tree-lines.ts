/**
 * The tree as lines of a terminal: two for each turn, what it was asked and what it is doing, with times and
 * tokens at the right. Pure.
 */
import { countWords, endWords, leftWords, timeWords } from './amounts.ts'
import { joinSegments, segment, type Segment, type Style } from './segment.ts'
import { listChildren, sumTokens, waitedFor, type Tree, type TreeNode } from './tree.ts'
import { displayWidth, firstLine, lastLine, oneLine } from './width.ts'

export type View = { width: number; rows: number; colour: boolean }

const spinner = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
export const spinnerMs = 100
const namesMax = 24

export function treeLines(tree: Tree, now: number, view: View): string[] {
  const whole = linesOf(tree, now, view, 'all')
  if (whole.length <= view.rows) return whole
  const short = linesOf(tree, now, view, 'running')
  if (short.length <= view.rows) return short
  // The newest is at the bottom, and that is what somebody watches.
  const kept = short.slice(short.length - Math.max(1, view.rows - 1))
  return [
    joinSegments(
      [segment(`… ${short.length - kept.length} lines above`, 'dim')],
      [],
      view.width,
      view.colour,
    ),
    ...kept,
  ]
}

/** `detail` says which turns have their second line. */
type Drawing = { tree: Tree; now: number; view: View; detail: 'all' | 'running' }

function linesOf(tree: Tree, now: number, view: View, detail: Drawing['detail']): string[] {
  const roots = tree.roots.flatMap((id) => tree.nodes.get(id) ?? [])
  return roots.flatMap((root) =>
    nodeLines({ tree, now, view, detail }, root, '', '', displayWidth(root.agent)),
  )
}

function nodeLines(
  drawing: Drawing,
  node: TreeNode,
  first: string,
  rest: string,
  nameWidth: number,
): string[] {
  const { tree, view, detail } = drawing
  const children = listChildren(tree, node)
  const lines = [headLine(drawing, node, first, nameWidth)]
  if (detail === 'all' || node.state !== 'ended')
    lines.push(lineBelow(drawing, node, `${rest}${children.length > 0 ? '│ ' : '  '}`))
  const childNames = Math.min(
    namesMax,
    Math.max(0, ...children.map((child) => displayWidth(oneLine(child.agent)))),
  )
  children.forEach((child, index) => {
    const last = index === children.length - 1
    lines.push(
      ...nodeLines(
        drawing,
        child,
        `${rest}${last ? '└─' : '├─'}`,
        `${rest}${last ? '  ' : '│ '}`,
        childNames,
      ),
    )
  })
  return view.width <= 0 ? [] : lines
}

function headLine({ tree, now, view }: Drawing, node: TreeNode, branch: string, nameWidth: number): string {
  const [mark, style] = markOf(tree, node, now)
  const name = oneLine(node.agent)
  const left: Segment[] = [
    segment(branch, 'dim'),
    segment(`${mark} `, style),
    segment(name, 'bold'),
    segment(' '.repeat(Math.max(0, nameWidth - displayWidth(name)) + 2)),
    segment(firstLine(node.task)),
  ]
  const time = timeWords((node.endedAt ?? now) - node.openedAt).padStart(6)
  const tokens = `${countWords(sumTokens(tree, node)).padStart(8)} ${view.width < 60 ? 'tok' : 'tokens'}`
  return joinSegments(
    left,
    view.width < 40 ? [segment(time)] : [segment(time), segment(tokens, 'dim')],
    view.width,
    view.colour,
  )
}

function lineBelow({ tree, now, view }: Drawing, node: TreeNode, branch: string): string {
  const left = [segment(`${branch}  `, 'dim'), ...doing(tree, node)]
  const clock =
    node.state === 'ended' || node.deadline === null || view.width < 40
      ? []
      : [segment(leftWords(node.deadline - now), node.deadline - now < 10_000 ? 'yellow' : 'dim')]
  return joinSegments(left, clock, view.width, view.colour)
}

function markOf(tree: Tree, node: TreeNode, now: number): [string, Style] {
  if (node.state === 'ended') return node.outcome === 'completed' ? ['✓', 'green'] : ['✗', 'red']
  if (node.state === 'queued') return ['·', 'dim']
  if (waitedFor(tree, node).length > 0) return ['‖', 'yellow']
  return [spinner[Math.floor(now / spinnerMs) % spinner.length] ?? '·', 'cyan']
}

function doing(tree: Tree, node: TreeNode): Segment[] {
  if (node.state === 'ended') return ending(node)
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
  const said = lastLine(tree.saying.get(node.id)?.text ?? '')
  return [
    ...tools,
    segment(tools.length > 0 && said !== '' ? ' · ' : '', 'dim'),
    segment(said === '' && tools.length === 0 ? 'thinking' : said, 'dim'),
  ]
}

function ending(node: TreeNode): Segment[] {
  const said = firstLine(node.output)
  const before =
    node.outcome === 'completed'
      ? segment(node.toolsUsed.join(', '), 'dim')
      : segment(endWords(node.outcome ?? 'failed', node.errors[0] ?? null), 'red')
  return [before, segment(`${before.text === '' || said === '' ? '' : ' · '}${said}`, 'dim')]
}
