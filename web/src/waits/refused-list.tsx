/** Refused calls, with the ring that they would have closed. */
import type { Refusal } from '../../../src/model/refusal.ts'
import { linkToFlow } from '../address.ts'
import { formatTime, takeFirstLine } from '../format.ts'
import type { RefusedFact } from '../live/ledger.ts'
import { useLive } from '../live/use-live.ts'
import { AgentPath, Name, SessionLink } from '../parts/names.tsx'

const isRing = (refusal: Refusal): refusal is Extract<Refusal, { path: string[] }> =>
  refusal.code === 'call_cycle' || refusal.code === 'call_deadlock'

/** Refused because somebody would have waited for themselves in the end. */
export const isAboutWaiting = ({ refusal: { code } }: RefusedFact): boolean =>
  code === 'call_cycle' || code === 'call_deadlock' || code === 'self_call'

const words: Partial<Record<Refusal['code'], string>> = {
  call_cycle: 'It would have come back to an agent on its own path.',
  call_deadlock: 'It would have waited in a ring with others.',
  self_call: 'An agent cannot call itself.',
  call_too_deep: 'It would have been too deep.',
  not_allowed: 'The configuration does not allow it.',
  agent_unknown: 'There is no such agent.',
  session_unknown: 'There is no such session.',
  task_repeated: 'It was the same task, handed on unchanged.',
  too_many_calls: 'Too many calls were open.',
  too_many_descendants: 'The request had made too many sessions.',
  rate_limited: 'There were too many calls in a minute.',
  budget_exhausted: 'The budget was used up.',
  queue_full: 'The queue of the target was full.',
  context_too_large: 'The context did not fit.',
  call_ended: 'Nobody waited for it any more.',
  bad_input: 'Its arguments were not right.',
  tool_disabled: 'The tool was not available.',
}

export function RefusedList({ refused }: { refused: readonly RefusedFact[] }) {
  return (
    <ul className="cards">
      {refused.map((one) => (
        <li key={one.seq} className="card">
          <RefusedCard one={one} />
        </li>
      ))}
    </ul>
  )
}

function RefusedCard({ one }: { one: RefusedFact }) {
  const flow = useLive().ledger.calls.get(one.call)?.flow ?? null
  return (
    <>
      <p className="card-head">
        <Name>{one.callerAgent}</Name>{' '}
        <span className="arrow" aria-label="was not allowed to call">
          ⇥
        </span>{' '}
        <Name>{one.agent}</Name> <span className="badge tone-bad">{one.refusal.code}</span>{' '}
        <time className="hint">{formatTime(one.at)}</time>
      </p>
      {isRing(one.refusal) && <Ring path={one.refusal.path} />}
      <p>
        {words[one.refusal.code] ?? 'It was not allowed.'}{' '}
        <span className="hint">
          “<bdi>{takeFirstLine(one.task, 120)}</bdi>”
        </span>
      </p>
      <p className="hint">
        <SessionLink id={one.session} />
        {flow !== null && (
          <>
            {' '}
            · <a href={linkToFlow(flow, { call: one.call })}>See it in the flow</a>
          </>
        )}
      </p>
    </>
  )
}

/** The path of a ring. Its last arrow is the call that was refused. */
const Ring = ({ path }: { path: readonly string[] }) => (
  <p className="ring">
    <AgentPath agents={path.slice(0, -1)} />
    <span className="ring-refused">
      {' '}
      ⇥ <span className="unseen">refused: </span>
      <AgentPath agents={path.slice(-1)} />
    </span>
  </p>
)
