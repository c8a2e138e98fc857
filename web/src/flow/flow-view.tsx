/** One request and everything it caused, live or at any past event. */
import { useCallback, useMemo } from 'react'
import type { StreamedEvent } from '../../../src/wire/log.ts'
import { changeQuery, buildHref } from '../address.ts'
import { toUsd } from '../../../src/model/money.ts'
import {
  describeCost,
  formatAmount,
  formatCost,
  formatTime,
  formatDuration,
  takeFirstLine,
  pluralize,
} from '../format.ts'
import { useNow } from '../browser-clock.ts'
import { useKeys, moveFocus } from '../keys.ts'
import { nameAgent } from '../live/ledger.ts'
import { getFlowAgent, getFlowOutcome } from '../live/describe-facts.ts'
import { useLive, useLiveTopic } from '../live/use-live.ts'
import { NeedsHere } from '../needs/need-card.tsx'
import { OutcomeBadge } from '../parts/badges.tsx'
import { Name } from '../parts/names.tsx'
import { Empty, Loading, Problem } from '../parts/states.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { CallGraph } from './call-graph.tsx'
import { CallPanel } from './call-panel.tsx'
import { useFlowEvents } from './flow-events.ts'
import { FlowNow } from './flow-now.tsx'
import { listOpenBelow, type Bar, type FlowPicture } from './flow-picture.ts'
import { foldFlow } from './fold-flow.ts'
import { ReplaySlider } from './replay-slider.tsx'
import { Hatch, Timeline } from './timeline.tsx'

export function FlowView({ id, query }: { id: string; query: URLSearchParams }) {
  const { events, state, problem } = useFlowEvents(id)
  if (problem !== null)
    return <Problem what="The flow could not be read." error={problem} retry={() => location.reload()} />
  if (state === 'unknown')
    return (
      <Empty title="There is no such flow.">
        <p>
          The link is cut, or from another server. <a href={buildHref(['flows'])}>All flows</a>
        </p>
      </Empty>
    )
  if (state === 'reading') return <Loading what="the flow" />
  return <Flow id={id} events={events} count={events.length} query={query} />
}

const shapes = [
  { name: 'timeline', word: 'Timeline' },
  { name: 'graph', word: 'Graph' },
] as const

type FlowProps = { id: string; events: readonly StreamedEvent[]; count: number; query: URLSearchParams }

function Flow({ id, events, count, query }: FlowProps) {
  const now = useNow()
  const live = useLive()
  const named = useCallback((agent: string) => nameAgent(live.ledger, agent), [live])
  const index = findEventIndex(events, query.get('at'))
  const shown = index === null ? count : index + 1
  const picture = useMemo(() => foldFlow(events, shown, named), [events, shown, named])
  const shape = query.get('shape') === 'graph' ? 'graph' : 'timeline'
  const picked = query.get('call')
  const bar =
    picked === null ? undefined : (picture.bars.get(picked) ?? picture.bars.get(`turn_${picked.slice(5)}`))
  // The clock of a flow stops when it has ended.
  const at = index === null && picture.open > 0 ? Math.max(now, picture.to) : picture.to
  const findAgent = useCallback(
    (turn: string | null) => (turn === null ? '' : (picture.bars.get(turn)?.agent ?? '')),
    [picture],
  )
  const move = useCallback(
    (next: number | null) => changeQuery({ at: next === null ? null : (events[next]?.seq ?? null) }),
    [events],
  )
  const pick = (call: string): void => changeQuery({ call })
  useKeys({
    j: () => moveFocus('[data-lane]', 1),
    k: () => moveFocus('[data-lane]', -1),
    Escape: () => (picked === null ? (location.hash = buildHref(['flows'])) : changeQuery({ call: null })),
    ArrowLeft: () => move(Math.max(0, (index ?? events.length - 1) - 1)),
    ArrowRight: () => (index === null ? undefined : move(index + 1 >= events.length ? null : index + 1)),
  })
  return (
    <div className={`flow${bar === undefined ? '' : ' has-panel'}`}>
      <Hatch />
      <div className="flow-main">
        <FlowHead id={id} picture={picture} at={at} isPast={index !== null} />
        <NeedsHere flow={id} />
        {index === null && <FlowNow id={id} version={events.length} />}
        <Tabs
          label="Shape"
          tabs={shapes}
          pressed={shape}
          onPress={(name) => changeQuery({ shape: name === 'timeline' ? null : name })}
        />
        {shape === 'timeline' ? (
          <Timeline picture={picture} events={events} count={shown} at={at} picked={picked} onPick={pick} />
        ) : (
          <CallGraph picture={picture} onPick={pick} />
        )}
        <ReplaySlider events={events} index={index} findAgent={findAgent} named={named} onMove={move} />
      </div>
      {bar !== undefined && (
        <CallPanel
          key={bar.id}
          bar={bar}
          below={listOpenBelow(picture.bars, bar.id)}
          at={at}
          isPast={index !== null}
          onClose={() => changeQuery({ call: null })}
        />
      )}
    </div>
  )
}

/** The last event up to the one in the address. */
function findEventIndex(events: readonly StreamedEvent[], at: string | null): number | null {
  if (at === null || !/^\d+$/.test(at)) return null
  const found = events.findLastIndex(({ seq }) => Number(seq) <= Number(at))
  return found === -1 ? 0 : found
}

type HeadProps = { id: string; picture: FlowPicture; at: number; isPast: boolean }

function FlowHead({ id, picture, at, isPast }: HeadProps) {
  const { root } = picture
  const { ledger } = useLiveTopic(`flow:${id}`)
  if (root === null) return null
  const flow = ledger.flows.get(id)
  const outcome = flow === undefined || root.outcome === null ? root.outcome : getFlowOutcome(ledger, flow)
  const text = flow?.text === undefined || flow.text === '' ? root.text : flow.text
  const calls = [...picture.bars.values()].filter((bar) => bar.call !== null)
  const bad = calls.filter(({ outcome }) => outcome !== null && outcome !== 'completed').length
  return (
    <header className="flow-head">
      <h1>
        <bdi>{takeFirstLine(text, 160)}</bdi> <OutcomeBadge outcome={outcome} />
        {isPast && <span className="badge tone-warn">as it was at {formatTime(picture.to)}</span>}
      </h1>
      <p className="flow-text">
        <Name>{flow === undefined ? root.agent : getFlowAgent(ledger, flow)}</Name>
      </p>
      <ul className="facts">
        <li>{formatDuration((root.endedAt ?? at) - root.openedAt)}</li>
        {root.endedAt === null && root.deadline !== null && (
          <li>ends in {formatDuration(Math.max(0, root.deadline - at))} at the latest</li>
        )}
        <li>
          {pluralize(calls.length, 'call')}
          {bad > 0 && `, ${bad} not completed`}
        </li>
        {picture.open > 0 && (
          <li>
            {pluralize(picture.open, 'turn')} open: {describeWaits(picture)}
          </li>
        )}
        <li>
          {formatAmount(picture.tokens)} tokens
          {picture.tokensMax === null ? '' : ` of ${formatAmount(picture.tokensMax)}`}
        </li>
        {(picture.cost.usd !== 0 || picture.nanoUsdMax !== null) && (
          <li>
            {describeCost(picture.cost)}
            {picture.nanoUsdMax === null ? '' : `, at most ${formatCost(toUsd(picture.nanoUsdMax))}`}
          </li>
        )}
      </ul>
      {picture.tokensMax !== null && (
        <svg
          className="budget"
          role="img"
          aria-label={`${picture.tokens} of ${picture.tokensMax} tokens used`}
        >
          <rect className="budget-all" width="100%" height="6" rx="3" />
          <rect
            className="budget-used"
            width={`${Math.min(100, (picture.tokens / Math.max(1, picture.tokensMax)) * 100)}%`}
            height="6"
            rx="3"
          />
        </svg>
      )}
    </header>
  )
}

/** What a flow waits for in the end: an agent that works, or a person who is asked. */
function describeWaits({ bars }: FlowPicture): string {
  const open = [...bars.values()].filter((bar) => bar.endedAt === null)
  const asked = open.find((bar) => bar.segments.some((one) => one.kind === 'question' && one.to === null))
  if (asked !== undefined) return `${asked.agent} waits for your answer`
  const working = open.filter((bar) => !isWaiting(bar))
  return working.length === 0
    ? 'all wait'
    : `${[...new Set(working.map(({ agent }) => agent))].join(', ')} ${working.length === 1 ? 'works' : 'work'}`
}

const isWaiting = (bar: Bar): boolean =>
  bar.startedAt === null ||
  bar.segments.some((one) => (one.kind === 'call' || one.kind === 'wait') && one.to === null)
