/** The head of a conversation: its agent, its state and its actions. */
import { useState } from 'react'
import { describeUse, pluralize, shortenId } from '../format.ts'
import { linkToFlow } from '../address.ts'
import { useNow } from '../browser-clock.ts'
import { nameSessionAgent, isActive, type SessionFact } from '../live/ledger.ts'
import { nameSession } from '../live/describe-facts.ts'
import type { Live } from '../live/live.ts'
import { useLiveTopic } from '../live/use-live.ts'
import { ActivityBadge } from '../parts/badges.tsx'
import { CopyButton } from '../parts/code-block.tsx'
import { Name, SessionLink } from '../parts/names.tsx'
import { Problem } from '../parts/states.tsx'
import { ReachNote } from '../presence/presence.tsx'
import { QuietSwitch } from '../presence/quiet-switch.tsx'

export function ConversationHead({ id, back }: { id: string; back: string }) {
  const live = useLiveTopic(`session:${id}`)
  const session = live.ledger.sessions.get(id)
  const now = useNow()
  return (
    <header className="conversation-head">
      <a className="back quiet" href={back}>
        ← Sessions
      </a>
      <h2>
        <Name>{session === undefined ? shortenId(id) : nameSession(live.ledger, session)}</Name>
      </h2>
      {session !== undefined && <ActivityBadge session={session} />}
      {session !== undefined && <ReachNote session={session} at={now} />}
      {session !== undefined && <Facts session={session} />}
      {session !== undefined && <Actions session={session} live={live} />}
    </header>
  )
}

function Facts({ session }: { session: SessionFact }) {
  return (
    <ul className="facts">
      <li>
        <Name>{nameSessionAgent(session)}</Name>
        {session.kind !== 'persistent' &&
          ` (${session.kind === 'external' ? 'a client outside' : 'made by a call'})`}
      </li>
      {session.model !== null && <li>{session.model}</li>}
      {session.cwd !== '' && (
        <li title={session.cwd}>
          <bdi>{session.cwd}</bdi>
        </li>
      )}
      {session.forkedFrom !== null && (
        <li>
          <span className="badge tone-fork">fork</span> of <SessionLink id={session.forkedFrom} />
        </li>
      )}
      {session.parent !== null && session.parent !== session.forkedFrom && (
        <li>
          child of <SessionLink id={session.parent} />
        </li>
      )}
      {session.tokensUsed > 0 && <li>{describeUse(session)}</li>}
      {session.buffered > 0 && (
        <li>
          <a href="#/inbox/mail">{pluralize(session.buffered, 'message')} to accept</a>
        </li>
      )}
      <li>
        <span className="id">{shortenId(session.id)}</span> <CopyButton text={session.id} label="Copy id" />
      </li>
    </ul>
  )
}

function Actions({ session, live }: { session: SessionFact; live: Live }) {
  const [problem, setProblem] = useState<{ what: string; error: unknown } | null>(null)
  const act = (what: string, work: Promise<unknown>): void => {
    work.then(
      () => setProblem(null),
      (error: unknown) => setProblem({ what, error }),
    )
  }
  const flow = findNewestFlow(session, live)
  const queued = [...session.liveTurns].filter(
    (turn) => live.ledger.turns.get(turn)?.startedAt === null,
  ).length
  return (
    <div className="conversation-acts">
      {session.presence !== null && <QuietSwitch session={session.id} until={session.quietUntil} />}
      {flow !== null && (
        <a className="button" href={linkToFlow(flow)}>
          Flow
        </a>
      )}
      {isActive(session) && (
        <button
          type="button"
          className="danger"
          onClick={() => act('It was not cancelled.', live.client.sessions.cancel(session.id))}
        >
          Cancel turn
        </button>
      )}
      {queued > 0 && (
        <button
          type="button"
          onClick={() => act('It was not cancelled.', live.client.sessions.cancel(session.id, { all: true }))}
        >
          Cancel all, {queued} queued too
        </button>
      )}
      {session.orphan && (
        <button
          type="button"
          onClick={() => act('It was not adopted.', live.client.sessions.adopt(session.id, null))}
          title="Its parent is archived; make it a session of its own"
        >
          Adopt
        </button>
      )}
      {session.kind === 'persistent' && !session.archived && !isActive(session) && (
        <button
          type="button"
          onClick={() => act('It was not archived.', live.client.sessions.archive(session.id))}
        >
          Archive
        </button>
      )}
      {problem !== null && <Problem what={problem.what} error={problem.error} />}
    </div>
  )
}

function findNewestFlow(session: SessionFact, live: Live): string | null {
  const last = [...session.turnIds]
    .map((id) => live.ledger.turns.get(id))
    .filter((turn) => turn?.flow != null)
    .at(-1)
  return last?.flow ?? null
}
