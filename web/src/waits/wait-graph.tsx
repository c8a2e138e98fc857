import type { WaitEdge } from '../../../src/wire/log.ts'
import { formatAge, formatDuration, shortenId } from '../format.ts'
import { Arrows, drawCurve, shortenName } from '../flow/call-graph.tsx'
import { layoutLayers, type LaidNode } from '../flow/layout-layers.ts'
import { nameAgent } from '../live/ledger.ts'
import { useLive } from '../live/use-live.ts'
import { useNarrow } from '../parts/use-narrow.ts'
import type { End } from './wait-ends.ts'

/** Two boxes beside each other fit on a phone. */
const boxes = {
  wide: { width: 172, height: 44, gapX: 106, gapY: 18, nameMax: 18 },
  narrow: { width: 112, height: 44, gapX: 80, gapY: 18, nameMax: 11 },
}
type Box = (typeof boxes)['wide']
/** What a label on an arrow takes for each of its characters, and around them. */
const [charWidth, around] = [6, 10]

export function WaitGraph({
  edges,
  ends,
  now,
}: {
  edges: readonly WaitEdge[]
  ends: readonly End[]
  now: number
}) {
  const { ledger } = useLive()
  const isNarrow = useNarrow()
  const box = boxes[isNarrow ? 'narrow' : 'wide']
  const agents = new Map<string, string>()
  for (const { waiter, waiterAgent, target, targetAgent } of edges)
    agents.set(waiter, nameAgent(ledger, waiterAgent)).set(target, nameAgent(ledger, targetAgent))
  const laid = layoutLayers(
    [...agents.keys()],
    edges.map(({ waiter, target }) => ({ from: waiter, to: target })),
    box,
  )
  const reasons = new Map(ends.map((end) => [end.session, end.why]))
  return (
    <div
      className="graph-scroll"
      tabIndex={0}
      role="group"
      aria-label="Graph of waits, the same as the table below"
    >
      <svg width={laid.width} height={laid.height} aria-hidden="true">
        <Arrows />
        {edges.map((edge, index) => (
          <WaitLine
            key={index}
            from={laid.at.get(edge.waiter)}
            to={laid.at.get(edge.target)}
            box={box}
            label={edge.since === 0 ? null : (isNarrow ? formatAge : formatDuration)(now - edge.since)}
          />
        ))}
        {[...agents].map(([session, agent]) => (
          <SessionBox
            key={session}
            session={session}
            agent={agent}
            box={box}
            place={laid.at.get(session)}
            look={looks[reasons.get(session) ?? 'waits']}
          />
        ))}
      </svg>
    </div>
  )
}

function WaitLine({
  from,
  to,
  box,
  label,
}: {
  from: LaidNode | undefined
  to: LaidNode | undefined
  box: Box
  label: string | null
}) {
  if (from === undefined || to === undefined) return null
  const { path, x, y } = drawCurve(from, to, box)
  const width = (label ?? '').length * charWidth + around
  return (
    <g className="edge edge-wait">
      <path d={path} markerEnd="url(#arrow-rest)" />
      {label !== null && (
        <>
          <rect x={x - width / 2} y={y - 9} width={width} height="18" rx="9" />
          <text x={x} y={y + 4} textAnchor="middle">
            {label}
          </text>
        </>
      )}
    </g>
  )
}

type Look = { className: string; note: string }
const looks: Record<End['why'] | 'waits', Look> = {
  works: { className: 'node-live', note: ' · works' },
  asks: { className: 'node-ask', note: ' · asks a person' },
  rests: { className: 'node-bad', note: '' },
  waits: { className: 'node-wait', note: ' · waits' },
}

function SessionBox({
  session,
  agent,
  box,
  place,
  look,
}: {
  session: string
  agent: string
  box: Box
  place: LaidNode | undefined
  look: Look
}) {
  if (place === undefined) return null
  return (
    <g transform={`translate(${place.x} ${place.y})`} className={`node ${look.className}`}>
      <rect width={box.width} height={box.height} rx="6" />
      <text x="12" y="19" className="node-name">
        {shortenName(agent, box.nameMax)}
      </text>
      <text x="12" y="34" className="node-note">
        {box === boxes.wide ? `${shortenId(session)}${look.note}` : look.note.replace(' · ', '')}
      </text>
    </g>
  )
}
