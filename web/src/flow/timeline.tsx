/** Who ran when: a lane for each turn, nested under its caller, with its steps and waits. */
import { memo, useState } from 'react'
import type { StreamedEvent } from '../../../src/wire/log.ts'
import { formatAmount, formatDuration, takeFirstLine } from '../format.ts'
import { OutcomeBadge } from '../parts/badges.tsx'
import { Name } from '../parts/names.tsx'
import { LaneSteps } from './lane-steps.tsx'
import { orderBars, type Bar, type FlowPicture, type Segment } from './flow-picture.ts'

type Scale = { from: number; to: number }
const share = (scale: Scale, at: number): number =>
  Math.min(100, Math.max(0, ((at - scale.from) / Math.max(1, scale.to - scale.from)) * 100))

type Props = {
  picture: FlowPicture
  events: readonly StreamedEvent[]
  /** So many of the events are shown. */
  count: number
  at: number
  picked: string | null
  onPick: (id: string) => void
}

export function Timeline({ picture, events, count, at, picked, onPick }: Props) {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  const scale = { from: picture.from, to: Math.max(at, picture.to, picture.from + 100) }
  const rows = orderBars(picture)
  const areAllOpen = rows.every(({ bar }) => opened.has(bar.id))
  const toggle = (id: string): void =>
    setOpened((known) => new Set(known.has(id) ? [...known].filter((one) => one !== id) : [...known, id]))
  return (
    <div className="timeline" role="group" aria-label="Timeline">
      <div className="timeline-head">
        <button
          type="button"
          className="quiet"
          onClick={() => setOpened(new Set(areAllOpen ? [] : rows.map(({ bar }) => bar.id)))}
        >
          {areAllOpen ? 'Close all steps' : 'Open all steps'}
        </button>
      </div>
      <Axis scale={scale} />
      <ol className="lanes">
        {rows.map(({ bar, level }) => (
          <li key={bar.id}>
            <button
              type="button"
              className="twist"
              aria-expanded={opened.has(bar.id)}
              aria-label={`Steps of ${bar.agent}: ${takeFirstLine(bar.text, labelMax)}`}
              onClick={() => toggle(bar.id)}
            >
              {opened.has(bar.id) ? '▾' : '▸'}
            </button>
            <Lane
              bar={bar}
              level={level}
              scale={scale}
              at={at}
              isPicked={picked !== null && (picked === bar.id || picked === bar.call)}
              onPick={onPick}
            />
            {opened.has(bar.id) && <LaneSteps bar={bar} events={events} count={count} />}
          </li>
        ))}
      </ol>
      <Legend />
    </div>
  )
}

const labelMax = 80

const Axis = ({ scale }: { scale: Scale }) => (
  <div className="lane axis" aria-hidden="true">
    <span />
    <svg>
      {[0, 25, 50, 75, 100].map((part) => (
        <g key={part}>
          <line x1={`${part}%`} x2={`${part}%`} y1="14" y2="22" />
          <text x={`${part}%`} y="11" textAnchor={part === 0 ? 'start' : part === 100 ? 'end' : 'middle'}>
            {formatDuration(((scale.to - scale.from) * part) / 100)}
          </text>
        </g>
      ))}
    </svg>
    <span />
  </div>
)

type LaneProps = {
  bar: Bar
  level: number
  scale: Scale
  at: number
  isPicked: boolean
  onPick: (id: string) => void
}

function Lane({ bar, level, scale, at, isPicked, onPick }: LaneProps) {
  const end = bar.endedAt ?? at
  const isQueued = bar.startedAt === null && bar.endedAt === null
  return (
    <button
      type="button"
      className={`lane${isPicked ? ' chosen' : ''}`}
      aria-pressed={isPicked}
      onClick={() => onPick(bar.call ?? bar.id)}
      data-lane={bar.call ?? bar.id}
    >
      <span className="lane-name" style={{ paddingInlineStart: `${level * 0.9}rem` }}>
        <Name>{bar.agent}</Name>{' '}
        <span className="lane-task">
          <bdi>{takeFirstLine(bar.text, labelMax)}</bdi>
        </span>{' '}
      </span>
      <svg aria-hidden="true" className={`lane-bar tone-${bar.outcome ?? 'live'}`}>
        <Strip className="bar-queue" scale={scale} from={bar.openedAt} to={bar.startedAt ?? end} />
        {bar.startedAt !== null && (
          <Strip
            className={`bar-run${bar.endedAt === null ? ' bar-live' : ''}`}
            scale={scale}
            from={bar.startedAt}
            to={end}
          />
        )}
        {bar.segments.map((segment, index) => (
          <SegmentStrip key={index} segment={segment} scale={scale} at={at} />
        ))}
        {bar.refused !== null && (
          <text
            className="bar-refused"
            x={`${share(scale, bar.openedAt)}%`}
            y="15"
            textAnchor={share(scale, bar.openedAt) > 90 ? 'end' : 'start'}
          >
            ✕
          </text>
        )}
        {bar.deadline !== null && bar.deadline <= scale.to && (
          <line
            className="bar-deadline"
            x1={`${share(scale, bar.deadline)}%`}
            x2={`${share(scale, bar.deadline)}%`}
            y1="0"
            y2="20"
          />
        )}
      </svg>
      <span className="lane-end">
        <OutcomeBadge outcome={bar.outcome} waiting={isQueued} />{' '}
        <span className="number">{bar.refused === null ? formatDuration(end - bar.openedAt) : ''} </span>
        <span className="number">
          {bar.tokens === 0 ? '' : formatAmount(bar.tokens)}
          {bar.tokens > 0 && <span className="unseen"> tokens</span>}
        </span>
      </span>
    </button>
  )
}

const Strip = memo(function Strip({
  className,
  scale,
  from,
  to,
}: {
  className: string
  scale: Scale
  from: number
  to: number
}) {
  const x = share(scale, from)
  return to <= from ? null : (
    <rect
      className={className}
      x={`${x}%`}
      width={`${Math.max(0.15, share(scale, to) - x)}%`}
      y="4"
      height="12"
      rx="2"
    />
  )
})

const segmentWords: Record<Segment['kind'], (name: string) => string> = {
  model: (name) => `model ${name}`,
  tool: (name) => `tool ${name}`,
  call: (name) => `waits for ${name}`,
  wait: (name) => `waits for ${name}`,
  question: (name) => `waits for a person: ${name}`,
}

function SegmentStrip({ segment, scale, at }: { segment: Segment; scale: Scale; at: number }) {
  const words = segmentWords[segment.kind](segment.name)
  const took = formatDuration((segment.to ?? at) - segment.from)
  const title = `${words}, ${took}${segment.ok ? '' : ', failed'}`
  const x = share(scale, segment.from)
  const width = Math.max(0.3, share(scale, segment.to ?? at) - x)
  const isWait = segment.kind === 'call' || segment.kind === 'wait' || segment.kind === 'question'
  return (
    <rect
      className={`seg seg-${segment.kind}${segment.ok ? '' : ' seg-failed'}`}
      x={`${x}%`}
      width={`${width}%`}
      y={isWait ? 4 : 6}
      height={isWait ? 12 : 8}
      fill={isWait ? 'url(#hatch)' : undefined}
    >
      <title>{title}</title>
    </rect>
  )
}

const legend: readonly { word: string; className: string; height?: number; isHatched?: boolean }[] = [
  { word: 'queued', className: 'bar-queue' },
  { word: 'runs', className: 'bar-run' },
  { word: 'model', className: 'seg seg-model', height: 8 },
  { word: 'tool', className: 'seg seg-tool', height: 8 },
  { word: 'waits', className: 'seg seg-call', isHatched: true },
  { word: 'waits for a person', className: 'seg seg-question', isHatched: true },
]

const Legend = () => (
  <p className="legend" aria-hidden="true">
    {legend.map(({ word, className, height = 10, isHatched = false }) => (
      <span key={word}>
        <svg>
          <rect
            className={className}
            width="16"
            height={height}
            y={7 - height / 2}
            fill={isHatched ? 'url(#hatch)' : undefined}
          />
        </svg>
        {word}
      </span>
    ))}
    <span>
      <svg>
        <line className="bar-deadline" x1="8" x2="8" y1="0" y2="14" />
      </svg>
      deadline
    </span>
  </p>
)

/** Waits are striped, so that they differ from work without colour. */
export const Hatch = () => (
  <svg className="defs" aria-hidden="true">
    <defs>
      <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect className="hatch-back" width="6" height="6" />
        <rect className="hatch-line" width="2.2" height="6" />
      </pattern>
    </defs>
  </svg>
)
