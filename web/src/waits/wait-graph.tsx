import type { WaitEdge } from '../../../src/wire/log.ts'
import { duration, shortId } from '../amounts.ts'
import { Arrows, curve, cut } from '../flow/call-graph.tsx'
import { layered } from '../flow/layered.ts'
import { called } from '../live/ledger.ts'
import { useLive } from '../live/use-live.ts'
import type { End } from './wait-words.ts'

const box = { width: 172, height: 44, gapX: 92, gapY: 18 }

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
  const agents = new Map<string, string>()
  for (const { waiter, waiterAgent, target, targetAgent } of edges)
    agents.set(waiter, called(ledger, waiterAgent)).set(target, called(ledger, targetAgent))
  const laid = layered(
    [...agents.keys()],
    edges.map(({ waiter, target }) => ({ from: waiter, to: target })),
    box,
  )
  const endOf = new Map(ends.map((end) => [end.session, end.why]))
  return (
    <div
      className="graph-scroll"
      tabIndex={0}
      role="group"
      aria-label="Graph of waits, the same as the table below"
    >
      <svg width={laid.width} height={laid.height} aria-hidden="true">
        <Arrows />
        {edges.map(({ waiter, target, since }, index) => {
          const [from, to] = [laid.at.get(waiter), laid.at.get(target)]
          if (from === undefined || to === undefined) return null
          const { path, x, y } = curve(from, to, box)
          return (
            <g key={index} className="edge edge-wait">
              <path d={path} markerEnd="url(#arrow-rest)" />
              {since > 0 && (
                <>
                  <rect x={x - 26} y={y - 9} width="52" height="18" rx="9" />
                  <text x={x} y={y + 4} textAnchor="middle">
                    {duration(now - since)}
                  </text>
                </>
              )}
            </g>
          )
        })}
        {[...agents].map(([session, agent]) => {
          const place = laid.at.get(session)
          const end = endOf.get(session)
          return place === undefined ? null : (
            <g
              key={session}
              transform={`translate(${place.x} ${place.y})`}
              className={`node${end === 'works' ? ' node-live' : end === 'asks' ? ' node-ask' : end === 'rests' ? ' node-bad' : ' node-wait'}`}
            >
              <rect width={box.width} height={box.height} rx="6" />
              <text x="12" y="19" className="node-name">
                {cut(agent)}
              </text>
              <text x="12" y="34" className="node-note">
                {shortId(session)}
                {end === 'asks'
                  ? ' · asks a person'
                  : end === 'works'
                    ? ' · works'
                    : end === undefined
                      ? ' · waits'
                      : ''}
              </text>
            </g>
          )
        })}
      </svg>
    </div>
  )
}
