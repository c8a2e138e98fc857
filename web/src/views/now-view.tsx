/** The first view: what waits for the person, what runs now and where, what failed, and what today has used. */
import { useState } from 'react'
import type { FlowSummary } from '../../../src/wire/flows.ts'
import { buildHref, linkToFlow } from '../address.ts'
import { now as readNow, startOfDay, useNow } from '../browser-clock.ts'
import { describeUse, formatAge, formatDuration, pluralize, shortenPath } from '../format.ts'
import { useLiveTopic } from '../live/use-live.ts'
import { askToNotify, mayAskToNotify } from '../needs/attention.ts'
import { NeedList } from '../needs/need-list.tsx'
import { useNeeds } from '../needs/needs.tsx'
import { NodeList } from '../nodes/node-list.tsx'
import { OutcomeBadge } from '../parts/badges.tsx'
import { Name } from '../parts/names.tsx'
import { Empty, Loading, Problem } from '../parts/states.tsx'
import { useCalm } from '../parts/use-calm.ts'
import { useLoaded } from '../parts/use-loaded.ts'

export function NowView() {
  const { needs } = useNeeds()
  return (
    <section className="page now" aria-label="Now">
      <div className="page-head">
        <h1>Now</h1>
        <Today />
        <NotifyButton />
      </div>
      <h2 id="needs">Needs you{needs !== null && needs.length > 0 && ` (${needs.length})`}</h2>
      <NeedList />
      <h2 id="running">Running</h2>
      <FlowCards state="live" none="Nothing runs." />
      <h2 id="failed">Failed lately</h2>
      <FlowCards state="failed" none="Nothing has failed." />
      <NodeList />
    </section>
  )
}

const shownMax = 20

function FlowCards({ state, none }: { state: 'live' | 'failed'; none: string }) {
  const live = useLiveTopic('flows')
  useLiveTopic('questions')
  useLiveTopic('calls')
  useLiveTopic('remarks')
  const version = useCalm(
    ['flows', 'questions', 'calls', 'remarks'].map((topic) => live.topics.version(topic)).join(' '),
  )
  const { value, error, again } = useLoaded(`flows ${state} ${version}`, (signal) =>
    live.client.flows({ state, limit: shownMax }, { signal }),
  )
  const [kept, setKept] = useState<FlowSummary[] | null>(null)
  if (value !== null && value.flows !== kept) setKept(value.flows)
  const flows = value?.flows ?? kept
  if (error !== null && flows === null)
    return <Problem what="The requests could not be read." error={error} retry={again} />
  if (flows === null) return <Loading what="the requests" />
  if (flows.length === 0) return <Empty title={none} />
  return (
    <ul className="cards now-flows">
      {flows.map((flow) => (
        <li key={flow.flow} className="card">
          <FlowCard flow={flow} />
        </li>
      ))}
    </ul>
  )
}

const stateWords: Readonly<Record<FlowSummary['state'], { word: string; tone: string }>> = {
  running: { word: 'working', tone: 'live' },
  asking: { word: 'asks you', tone: 'warn' },
  queued: { word: 'queued', tone: 'rest' },
  away: { word: 'program away', tone: 'warn' },
  ended: { word: 'ended', tone: 'rest' },
}

function FlowCard({ flow }: { flow: FlowSummary }) {
  const now = useNow()
  const { word, tone } = stateWords[flow.state]
  const took = flow.endedAt === null ? now - flow.openedAt : flow.durationMs
  return (
    <>
      <p className="card-head">
        {flow.state === 'ended' ? (
          <OutcomeBadge outcome={flow.outcome} />
        ) : (
          <span className={`badge tone-${tone}`}>{word}</span>
        )}
        <a className="flow-link" href={linkToFlow(flow.flow)}>
          <bdi>{flow.title === '' ? flow.flow : flow.title}</bdi>
        </a>
        <span className="hint">
          {formatDuration(took)} · {describeUse(flow) || '0 tokens'} · {formatAge(now - flow.openedAt)}
        </span>
      </p>
      <p className="hint">
        <Name>{flow.askedBy}</Name>
        {flow.agent !== '' && (
          <>
            {' → '}
            <Name>{flow.agent}</Name>
          </>
        )}{' '}
        · {shortenPath(flow.cwd)}
        {flow.calls > 0 && ` · ${pluralize(flow.calls, 'call')}`}
        {flow.failedCalls > 0 && `, ${flow.failedCalls} not completed`}
      </p>
      {flow.waitsFor !== '' && <p className="now-line">{flow.waitsFor}</p>}
      {flow.error !== null && flow.state === 'ended' && <p className="error-line">{flow.error}</p>}
      {flow.state !== 'ended' && flow.lastWords !== '' && (
        <p className="now-line">
          “<bdi>{flow.lastWords}</bdi>”
        </p>
      )}
    </>
  )
}

/** Of the whole day where the server counts by the minute that far back. */
function Today() {
  const live = useLiveTopic('flows')
  const since = startOfDay(readNow())
  const version = useCalm(String(live.topics.version('flows')))
  const { value } = useLoaded(`today ${since} ${version}`, (signal) =>
    live.client.numbers({ since }, { signal }),
  )
  if (value === null) return null
  const tokensUsed = value.tokens.input + value.tokens.output
  const used = describeUse({ tokensUsed, cost: value.tokens.cost })
  return (
    <a className="today" href={buildHref(['numbers'])}>
      Today: {pluralize(value.requests, 'request')}, {pluralize(value.calls, 'call')},{' '}
      {used === '' ? '0 tokens' : used}
    </a>
  )
}

function NotifyButton() {
  const [asks, setAsks] = useState(mayAskToNotify)
  if (!asks) return null
  return (
    <button
      type="button"
      className="quiet"
      onClick={() => void askToNotify().then(() => setAsks(mayAskToNotify()))}
    >
      Notify me on the desktop
    </button>
  )
}
