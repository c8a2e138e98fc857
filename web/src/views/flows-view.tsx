/** All flows that the page has read, newest first. */
import { useState } from 'react'
import { linkToFlow } from '../address.ts'
import { formatAge, formatAmount, formatDuration, formatDateTime } from '../format.ts'
import { useNow } from '../browser-clock.ts'
import { moveFocus, useKeys } from '../keys.ts'
import { isFailure } from '../../../src/model/request-name.ts'
import { getFlowAgent, getFlowOutcome } from '../live/describe-facts.ts'
import { sumFlowTokens, type FlowFact, type Ledger } from '../live/ledger.ts'
import { useLiveTopic } from '../live/use-live.ts'
import { OutcomeBadge } from '../parts/badges.tsx'
import { Name } from '../parts/names.tsx'
import { Empty, Loading } from '../parts/states.tsx'
import { TableHead } from '../parts/table-head.tsx'
import { isAboutWaiting, RefusedList } from '../waits/refused-list.tsx'

const shownStep = 100
const refusedShown = 50

export function FlowsView() {
  const live = useLiveTopic('flows')
  useLiveTopic('calls')
  const now = useNow()
  const [shown, setShown] = useState(shownStep)
  const [text, setText] = useState('')
  const [state, setState] = useState<FlowFilter>('all')
  useKeys({ j: () => moveFocus('.flow-link', 1), k: () => moveFocus('.flow-link', -1) })
  const words = text.toLowerCase()
  const flows = [...live.ledger.flows.values()]
    .filter((flow) => live.ledger.turns.get(flow.turn)?.isLook !== true)
    .filter((flow) => fitsState(live.ledger, flow, state))
    .filter((flow) => words === '' || `${flow.text} ${flow.agent} ${flow.id}`.toLowerCase().includes(words))
    .sort((a, b) => b.firstSeq - a.firstSeq)
  return (
    <section className="page" aria-label="Flows">
      <div className="page-head">
        <h1>Flows</h1>
        <p className="hint">A flow is one request and everything it caused.</p>
        <select
          aria-label="State"
          value={state}
          onChange={(event) => setState(event.target.value as FlowFilter)}
        >
          <option value="all">Any state</option>
          <option value="live">Running</option>
          <option value="asking">Asks me</option>
          <option value="failed">Failed</option>
        </select>
        <input
          type="search"
          data-search
          aria-label="Search flows"
          placeholder="Search"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </div>
      {flows.length === 0 ? (
        live.loaded().log ? (
          <Empty title={text === '' && state === 'all' ? 'Nothing was asked yet.' : 'No flow fits.'}>
            {text === '' && state === 'all' && (
              <p>
                <a href="#/start">Run the demo</a>, or write to an agent.
              </p>
            )}
          </Empty>
        ) : (
          <Loading what="the log" />
        )
      ) : (
        <FlowTable flows={flows.slice(0, shown)} ledger={live.ledger} now={now} />
      )}
      {flows.length > shown && (
        <button type="button" onClick={() => setShown(shown + shownStep)}>
          Show more ({flows.length - shown})
        </button>
      )}
      <RefusedCalls ledger={live.ledger} />
      {live.readFrom() > 0 && (
        <p className="hint">
          Older flows are in the log: <code>tieline calls</code> lists them, and a link to one opens it here.
        </p>
      )}
    </section>
  )
}

/** Those that are about waiting are with the waits. */
function RefusedCalls({ ledger }: { ledger: Ledger }) {
  const others = ledger.refused.filter((one) => !isAboutWaiting(one)).slice(-refusedShown)
  return others.length === 0 ? null : (
    <details className="refused-calls">
      <summary>Refused calls ({others.length})</summary>
      <RefusedList refused={others.toReversed()} />
    </details>
  )
}

type FlowFilter = 'all' | 'live' | 'asking' | 'failed'

function fitsState(ledger: Ledger, flow: FlowFact, state: FlowFilter): boolean {
  if (state === 'all') return true
  const outcome = getFlowOutcome(ledger, flow)
  if (state === 'failed') return isFailure(outcome)
  if (state === 'live') return outcome === null
  return isAsking(ledger, flow)
}

const isAsking = (ledger: Ledger, { id }: FlowFact): boolean =>
  [...ledger.questions.values()].some((question) => question.flow === id)

function FlowTable({ flows, ledger, now }: { flows: readonly FlowFact[]; ledger: Ledger; now: number }) {
  return (
    <div className="table-scroll">
      <table className="table flows-table">
        <TableHead
          columns={['Request', 'Agent', 'State', 'Calls', 'Tokens', 'Took', 'Begun']}
          numeric={['Calls', 'Tokens', 'Took', 'Begun']}
        />
        <tbody>
          {flows.map((flow) => (
            <FlowRow key={flow.id} flow={flow} ledger={ledger} now={now} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function FlowRow({ flow, ledger, now }: { flow: FlowFact; ledger: Ledger; now: number }) {
  const root = ledger.turns.get(flow.turn)
  const calls = [...flow.calls].map((id) => ledger.calls.get(id))
  const bad = calls.filter(
    (call) => call !== undefined && call.outcome !== null && call.outcome !== 'completed',
  ).length
  return (
    <tr>
      <td className="wide">
        <a className="flow-link" href={linkToFlow(flow.id)}>
          <bdi>{flow.text === '' ? flow.id : flow.text}</bdi>
        </a>
      </td>
      <td>
        <Name>{getFlowAgent(ledger, flow)}</Name>
      </td>
      <td>
        <OutcomeBadge
          outcome={getFlowOutcome(ledger, flow)}
          waiting={root?.startedAt === null}
          asking={isAsking(ledger, flow)}
        />
      </td>
      <td className="number">
        {calls.length === 0 ? '' : calls.length}
        {bad > 0 && (
          <span className="bad-note" title={`${bad} not completed`}>
            {' '}
            ✕{bad}
          </span>
        )}
      </td>
      <td className="number">{formatAmount(sumFlowTokens(ledger, flow))}</td>
      <td className="number">{formatDuration((root?.endedAt ?? now) - flow.openedAt)}</td>
      <td className="number" title={formatDateTime(flow.openedAt)}>
        {formatAge(now - flow.openedAt)}
      </td>
    </tr>
  )
}
