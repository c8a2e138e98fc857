/** Who calls whom in a flow: a box for each agent, an arrow for the calls between two of them. */
import { formatAmount, pluralize } from '../format.ts'
import { describeOutcome } from '../parts/badges.tsx'
import { Name } from '../parts/names.tsx'
import { TableHead } from '../parts/table-head.tsx'
import { useNarrow } from '../parts/use-narrow.ts'
import type { Bar, FlowPicture } from './flow-picture.ts'
import { layoutLayers, type LaidNode } from './layout-layers.ts'

type AgentNode = { name: string; turns: number; open: number; tokens: number; failed: number }
type AgentEdge = {
  from: string
  to: string
  count: number
  open: number
  failed: number
  refused: number
  first: string
  outcomes: Map<string, number>
}

export function buildGraph({ bars }: FlowPicture): { nodes: AgentNode[]; edges: AgentEdge[] } {
  const nodes = new Map<string, AgentNode>()
  const edges = new Map<string, AgentEdge>()
  for (const bar of bars.values()) {
    const node = nodes.get(bar.agent) ?? { name: bar.agent, turns: 0, open: 0, tokens: 0, failed: 0 }
    nodes.set(bar.agent, node)
    if (bar.refused === null)
      Object.assign(node, {
        turns: node.turns + 1,
        tokens: node.tokens + bar.tokens,
        open: node.open + (bar.endedAt === null ? 1 : 0),
        failed: node.failed + (bar.outcome === 'failed' || bar.outcome === 'lost' ? 1 : 0),
      })
    const caller = bar.parent === null ? undefined : bars.get(bar.parent)
    if (caller !== undefined) addEdge(edges, caller.agent, bar)
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()] }
}

function addEdge(edges: Map<string, AgentEdge>, from: string, bar: Bar): void {
  const key = `${from}\n${bar.agent}`
  const edge = edges.get(key) ?? {
    from,
    to: bar.agent,
    count: 0,
    open: 0,
    failed: 0,
    refused: 0,
    first: bar.call ?? bar.id,
    outcomes: new Map<string, number>(),
  }
  const word = describeOutcome(bar.outcome)
  edge.outcomes.set(word, (edge.outcomes.get(word) ?? 0) + 1)
  edge.count += 1
  if (bar.outcome === null) edge.open += 1
  else if (bar.outcome === 'refused') edge.refused += 1
  else if (bar.outcome !== 'completed') edge.failed += 1
  edges.set(key, edge)
}

/** Two boxes beside each other fit on a phone. */
const boxes = {
  wide: { width: 168, height: 46, gapX: 84, gapY: 30, nameMax: 18 },
  narrow: { width: 130, height: 46, gapX: 44, gapY: 30, nameMax: 14 },
}
type Box = (typeof boxes)['wide']

export function CallGraph({ picture, onPick }: { picture: FlowPicture; onPick: (id: string) => void }) {
  const { nodes, edges } = buildGraph(picture)
  const box = boxes[useNarrow() ? 'narrow' : 'wide']
  const laid = layoutLayers(
    nodes.map(({ name }) => name),
    edges,
    box,
  )
  return (
    <div className="graph-area">
      <div
        className="graph-scroll"
        tabIndex={0}
        role="group"
        aria-label="Graph of calls, the same as the table below"
      >
        <svg width={laid.width} height={laid.height} aria-hidden="true">
          <Arrows />
          {edges.map((edge) => (
            <EdgeLine
              key={`${edge.from} ${edge.to}`}
              edge={edge}
              from={laid.at.get(edge.from)}
              to={laid.at.get(edge.to)}
              box={box}
              onPick={onPick}
            />
          ))}
          {nodes.map((node) => (
            <NodeBox key={node.name} node={node} box={box} place={laid.at.get(node.name)} />
          ))}
        </svg>
      </div>
      <EdgeTable edges={edges} onPick={onPick} />
    </div>
  )
}

export const Arrows = () => (
  <defs>
    {['rest', 'live', 'bad'].map((tone) => (
      <marker
        key={tone}
        id={`arrow-${tone}`}
        viewBox="0 0 8 8"
        refX="7"
        refY="4"
        markerWidth="7"
        markerHeight="7"
        orient="auto-start-reverse"
      >
        <path className={`arrow-${tone}`} d="M0 0 L8 4 L0 8 z" />
      </marker>
    ))}
  </defs>
)

function NodeBox({ node, box, place }: { node: AgentNode; box: Box; place: LaidNode | undefined }) {
  if (place === undefined) return null
  const note =
    node.turns === 0
      ? 'never ran'
      : `${pluralize(node.turns, 'turn')}${node.tokens === 0 ? '' : ` · ${formatAmount(node.tokens)} tokens`}`
  return (
    <g
      transform={`translate(${place.x} ${place.y})`}
      className={`node${node.open > 0 ? ' node-live' : ''}${node.failed > 0 ? ' node-bad' : ''}`}
    >
      <rect width={box.width} height={box.height} rx="6" />
      <text x="12" y="20" className="node-name">
        {shortenName(node.name, box.nameMax)}
      </text>
      <text x="12" y="36" className="node-note">
        {note}
      </text>
    </g>
  )
}

export const shortenName = (name: string, charsMax: number): string =>
  name.length > charsMax ? `${name.slice(0, charsMax - 1)}…` : name

function EdgeLine({
  edge,
  from,
  to,
  box,
  onPick,
}: {
  edge: AgentEdge
  from: LaidNode | undefined
  to: LaidNode | undefined
  box: Box
  onPick: (id: string) => void
}) {
  if (from === undefined || to === undefined) return null
  const tone = edge.open > 0 ? 'live' : edge.failed + edge.refused > 0 ? 'bad' : 'rest'
  const { path, x, y } = drawCurve(from, to, box)
  return (
    <g
      className={`edge edge-${tone}${edge.refused === edge.count ? ' edge-refused' : ''}`}
      onClick={() => onPick(edge.first)}
    >
      <path d={path} markerEnd={`url(#arrow-${tone})`} />
      <rect x={x - 13} y={y - 9} width="26" height="18" rx="9" />
      <text x={x} y={y + 4} textAnchor="middle">
        {edge.refused === edge.count ? '✕' : edge.count}
      </text>
    </g>
  )
}

/** To the right for a later layer, around below for an earlier one, a loop above for the box itself. */
export function drawCurve(
  from: LaidNode,
  to: LaidNode,
  size: { width: number; height: number },
): { path: string; x: number; y: number } {
  const [x1, y1, x2, y2] = [from.x + size.width, from.y + size.height / 2, to.x - 2, to.y + size.height / 2]
  if (to.layer > from.layer) {
    const middle = (x1 + x2) / 2
    return { path: `M${x1} ${y1} C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`, x: middle, y: (y1 + y2) / 2 }
  }
  if (from === to) {
    const [left, right, high] = [from.x + size.width - 64, from.x + size.width - 22, from.y - 26]
    return {
      path: `M${left} ${from.y} C${left} ${high} ${right} ${high} ${right} ${from.y - 2}`,
      x: (left + right) / 2,
      y: from.y - 19,
    }
  }
  const [a, b, low] = [
    from.x + size.width * 0.66,
    to.x + size.width * 0.33,
    Math.max(from.y, to.y) + size.height + 30,
  ]
  return {
    path: `M${a} ${from.y + size.height} C${a} ${low} ${b} ${low} ${b} ${to.y + size.height + 2}`,
    x: (a + b) / 2,
    y: low - 8,
  }
}

const EdgeTable = ({ edges, onPick }: { edges: readonly AgentEdge[]; onPick: (id: string) => void }) => (
  <div className="table-scroll">
    <table className="table edge-table">
      <caption className="unseen">Who called whom</caption>
      <TableHead columns={['Caller', 'Callee', 'Calls', 'How they ended']} numeric={['Calls']}>
        <th scope="col">
          <span className="unseen">Look</span>
        </th>
      </TableHead>
      <tbody>
        {edges.map((edge) => (
          <tr key={`${edge.from} ${edge.to}`}>
            <td>
              <Name>{edge.from}</Name>
            </td>
            <td>
              <Name>{edge.to}</Name>
            </td>
            <td className="number">{edge.count}</td>
            <td>{[...edge.outcomes].map(([word, count]) => `${count} ${word}`).join(', ')}</td>
            <td>
              <button type="button" className="quiet" onClick={() => onPick(edge.first)}>
                Look
              </button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)
