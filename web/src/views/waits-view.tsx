/**
 * Who waits for whom at this moment, what is at the end of it, and which waits were refused because they
 * would never have ended.
 */
import { useEffect } from 'react'
import { hrefOf } from '../address.ts'
import { duration, plural } from '../amounts.ts'
import { gathered, useNow } from '../browser-clock.ts'
import { Hatch } from '../flow/timeline.tsx'
import { useLook } from '../live/use-live.ts'
import { Name, SessionLink } from '../parts/names.tsx'
import { Empty, Loading, Problem } from '../parts/states.tsx'
import { useLoaded } from '../parts/use-loaded.ts'
import { RefusedList } from '../waits/refused-list.tsx'
import { WaitGraph } from '../waits/wait-graph.tsx'
import { endsOf, type End } from '../waits/wait-words.ts'

const lookAgainMs = 300
const refusedShown = 50

export function WaitsView() {
  const live = useLook('questions')
  useLook('calls')
  const now = useNow()
  const { value, error, again } = useLoaded('waits', (signal) => live.client.waits({ signal }))
  useEffect(() => live.topics.subscribe('waits', gathered(lookAgainMs, again)), [live, again])
  const refused = live.ledger.refused.slice(-refusedShown).toReversed()
  const ends = value === null ? [] : endsOf(value, live.ledger, now)
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
        <Empty title="Nobody waits for anybody.">
          <p>
            {live.ledger.questions.size > 0 ? (
              <>
                But{' '}
                <a href={hrefOf(['inbox', 'questions'])}>{plural(live.ledger.questions.size, 'question')}</a>{' '}
                {live.ledger.questions.size === 1 ? 'waits' : 'wait'} for you.
              </>
            ) : (
              'When an agent calls another, the wait is drawn here while it lasts.'
            )}
          </p>
        </Empty>
      ) : (
        <>
          <Ends ends={ends} count={new Set(value.map(({ waiter }) => waiter)).size} />
          <WaitGraph edges={value} ends={ends} now={now} />
          <div className="table-scroll">
            <table className="table">
              <caption className="unseen">Who waits for whom</caption>
              <thead>
                <tr>
                  <th scope="col">Waits</th>
                  <th scope="col">For</th>
                  <th scope="col">By</th>
                  <th scope="col" className="number">
                    Since
                  </th>
                  <th scope="col" className="number">
                    At most for
                  </th>
                </tr>
              </thead>
              <tbody>
                {value.map((edge, index) => (
                  <tr key={index}>
                    <td>
                      <SessionLink id={edge.waiter} />
                    </td>
                    <td>
                      <SessionLink id={edge.target} />
                    </td>
                    <td>{edge.kind}</td>
                    <td className="number">{edge.since === 0 ? '' : duration(now - edge.since)}</td>
                    <td className="number">{duration(Math.max(0, edge.until - now))}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
      <h2>Refused</h2>
      {refused.length === 0 ? (
        <p className="hint">No call was refused, as far back as the page has read.</p>
      ) : (
        <RefusedList refused={refused} />
      )}
    </section>
  )
}

const Ends = ({ ends, count }: { ends: readonly End[]; count: number }) => (
  <div className="ends">
    <p>
      <strong>
        {plural(count, 'session')} {count === 1 ? 'waits' : 'wait'}.
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
              — <a href={hrefOf(['inbox', 'questions'])}>answer it</a>
            </>
          )}{' '}
          <span className="hint">
            ({plural(end.waiters.length, 'waiter')}, <SessionLink id={end.session} withAgent={false} />)
          </span>
        </li>
      ))}
    </ul>
  </div>
)
