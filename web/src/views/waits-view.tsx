/** Who waits for whom now, what they wait for in the end, and which calls would have closed a ring. */
import { useEffect } from 'react'
import type { WaitEdge } from '../../../src/wire/log.ts'
import { buildHref } from '../address.ts'
import { formatDuration, pluralize } from '../format.ts'
import { throttle, useNow } from '../browser-clock.ts'
import { Hatch } from '../flow/timeline.tsx'
import { useLiveTopic } from '../live/use-live.ts'
import { Name, SessionLink } from '../parts/names.tsx'
import { Empty, Loading, Problem } from '../parts/states.tsx'
import { TableHead } from '../parts/table-head.tsx'
import { useLoaded } from '../parts/use-loaded.ts'
import { isAboutWaiting, RefusedList } from '../waits/refused-list.tsx'
import { WaitGraph } from '../waits/wait-graph.tsx'
import { findEnds, type End } from '../waits/wait-ends.ts'

const lookAgainMs = 300
const refusedShown = 50

export function WaitsView() {
  const live = useLiveTopic('questions')
  useLiveTopic('calls')
  const now = useNow()
  const { value, error, again } = useLoaded('waits', (signal) => live.client.waits({ signal }))
  useEffect(() => live.topics.subscribe('waits', throttle(lookAgainMs, again)), [live, again])
  const refused = live.ledger.refused.filter(isAboutWaiting).slice(-refusedShown).toReversed()
  const ends = value === null ? [] : findEnds(value, live.ledger, now)
  return (
    <section className="page" aria-label="Waits">
      <Hatch />
      <div className="page-head">
        <h1>Waits</h1>
        <p className="hint">
          An arrow goes from who waits to whom it waits for. There is never a ring: what would close one is
          refused.
        </p>
      </div>
      {error !== null ? (
        <Problem what="The waits could not be read." error={error} retry={again} />
      ) : value === null ? (
        <Loading what="the waits" />
      ) : value.length === 0 ? (
        <NobodyWaits questions={live.ledger.questions.size} />
      ) : (
        <>
          <Ends ends={ends} count={new Set(value.map(({ waiter }) => waiter)).size} />
          <WaitGraph edges={value} ends={ends} now={now} />
          <WaitTable edges={value} now={now} />
        </>
      )}
      <h2>Rings that were refused</h2>
      {refused.length === 0 ? (
        <p className="hint">
          No call would have closed a ring, as far back as the page has read. Other refusals are with the{' '}
          <a href={buildHref(['flows'])}>flows</a>.
        </p>
      ) : (
        <RefusedList refused={refused} />
      )}
    </section>
  )
}

const NobodyWaits = ({ questions }: { questions: number }) => (
  <Empty title="Nobody waits for anybody.">
    <p>
      {questions > 0 ? (
        <>
          But <a href={buildHref(['inbox', 'questions'])}>{pluralize(questions, 'question')}</a>{' '}
          {questions === 1 ? 'waits' : 'wait'} for you.
        </>
      ) : (
        'When an agent calls another, the wait is drawn here while it lasts.'
      )}
    </p>
  </Empty>
)

const WaitTable = ({ edges, now }: { edges: readonly WaitEdge[]; now: number }) => (
  <div className="table-scroll">
    <table className="table waits-table">
      <caption className="unseen">Who waits for whom</caption>
      <TableHead
        columns={['Waits', 'For', 'By', 'Since', 'At most for']}
        numeric={['Since', 'At most for']}
      />
      <tbody>
        {edges.map((edge, index) => (
          <tr key={index}>
            <td>
              <SessionLink id={edge.waiter} />
            </td>
            <td>
              <SessionLink id={edge.target} />
            </td>
            <td>{edge.kind}</td>
            <td className="number">{edge.since === 0 ? '' : formatDuration(now - edge.since)}</td>
            <td className="number">{formatDuration(Math.max(0, edge.until - now))}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

const Ends = ({ ends, count }: { ends: readonly End[]; count: number }) => (
  <div className="ends">
    <p>
      <strong>
        {pluralize(count, 'session')} {count === 1 ? 'waits' : 'wait'}.
      </strong>{' '}
      At the end of the waiting:
    </p>
    <ul>
      {ends.map((end) => (
        <li key={end.session}>
          <Name>{end.agent}</Name> {end.words}
          {end.why === 'asks' && (
            <>
              {' '}
              — <a href={buildHref(['inbox', 'questions'])}>answer it</a>
            </>
          )}{' '}
          <span className="hint">
            ({pluralize(end.waiters.length, 'waiter')}, <SessionLink id={end.session} withAgent={false} />)
          </span>
        </li>
      ))}
    </ul>
  </div>
)
