/** One session in the tree. It redraws only for its own changes, so that fifty can stream at once. */
import { memo } from 'react'
import { describeUse, formatAge, formatAmount, formatCost, shortenPath, takeFirstLine } from '../format.ts'
import { goToSession, linkToSession } from '../address.ts'
import { useNow } from '../browser-clock.ts'
import { nameSessionAgent, type Ledger, type SessionFact } from '../live/ledger.ts'
import { nameSession, readLastTask } from '../live/describe-facts.ts'
import { useLive, useLiveTopic } from '../live/use-live.ts'
import { ActivityBadge } from '../parts/badges.tsx'
import { Name } from '../parts/names.tsx'
import { ReachNote } from '../presence/presence.tsx'
import type { TreeRow } from './session-tree.ts'

type Props = {
  row: TreeRow
  index: number
  isChosen: boolean
  isFocusable: boolean
  onToggle: (id: string) => void
  onKey: (event: React.KeyboardEvent, row: TreeRow) => void
}

export const SessionRow = memo(function SessionRow({
  row,
  index,
  isChosen,
  isFocusable,
  onToggle,
  onKey,
}: Props) {
  const { level, hasChildren, isOpen, fits } = row
  const { ledger } = useLiveTopic(`session:${row.session.id}`)
  const session = row.session
  return (
    <div
      role="row"
      className={`tree-row${isChosen ? ' chosen' : ''}${fits ? '' : ' aside'}`}
      aria-level={level}
      aria-rowindex={index + 2}
      aria-selected={isChosen}
      {...(hasChildren ? { 'aria-expanded': isOpen } : {})}
      tabIndex={isFocusable ? 0 : -1}
      data-row={session.id}
      onKeyDown={(event) => onKey(event, row)}
    >
      <div role="gridcell" className="tree-name" style={{ paddingInlineStart: `${(level - 1) * 1.1}rem` }}>
        {hasChildren ? (
          <button
            type="button"
            className="twist"
            tabIndex={-1}
            aria-label={isOpen ? 'Close' : 'Open'}
            onClick={() => onToggle(session.id)}
          >
            {isOpen ? '▾' : '▸'}
          </button>
        ) : (
          <span className="twist" />
        )}
        <a href={linkToSession(session.id)} tabIndex={-1} onClick={(event) => follow(event, session.id)}>
          <Name>{nameSession(ledger, session)}</Name>
        </a>
        <AgentNote session={session} />
        <Task session={session} />
      </div>
      <div role="gridcell">
        <ActivityBadge session={session} />
        <Reach session={session} />
      </div>
      <div role="gridcell" className="tree-dir" title={session.cwd}>
        <bdi>{shortenPath(session.cwd)}</bdi>
      </div>
      <div role="gridcell" className="number">
        {session.buffered > 0 ? <strong>{session.buffered}</strong> : ''}
      </div>
      <div role="gridcell" className="number" title={describeUse(session)}>
        {session.tokensUsed === 0 ? '' : formatAmount(session.tokensUsed)}
        {session.cost.usd !== null && session.cost.usd > 0 && (
          <span className="tree-cost">{formatCost(session.cost.usd)}</span>
        )}
      </div>
      <div role="gridcell" className="number">
        <Age at={session.updatedAt} />
      </div>
    </div>
  )
})

function AgentNote({ session }: { session: SessionFact }) {
  const { ledger } = useLive()
  const agent = nameSessionAgent(session)
  const note =
    session.kind === 'external'
      ? agent
      : session.kind === 'ephemeral'
        ? `${agent} call`
        : agent !== nameSession(ledger, session)
          ? agent
          : ''
  return (
    <>
      {note !== '' && (
        <span className="tree-agent">
          <Name>{note}</Name>
        </span>
      )}
      {session.forkedFrom !== null && (
        <span
          className="badge tone-fork"
          title={`Shares the beginning of ${forkedName(ledger, session.forkedFrom)}`}
        >
          fork
        </span>
      )}
      {session.orphan && (
        <span className="tree-agent" title="Its parent is archived">
          orphan
        </span>
      )}
    </>
  )
}

const forkedName = (ledger: Ledger, id: string): string => {
  const from = ledger.sessions.get(id)
  return from === undefined ? id : nameSession(ledger, from)
}

/** What it works on, or worked on last, unless that is its name. */
function Task({ session }: { session: SessionFact }) {
  const { ledger } = useLive()
  const task = readLastTask(ledger, session)
  return task === '' ? null : (
    <span className="tree-task">
      <bdi>{takeFirstLine(task, 120)}</bdi>
    </span>
  )
}

const Reach = ({ session }: { session: SessionFact }) => <ReachNote session={session} at={useNow()} />

const Age = ({ at }: { at: number }) => <>{formatAge(useNow() - at)}</>

/** A plain click keeps the filters; the browser handles any other. */
function follow(event: React.MouseEvent, id: string): void {
  if (event.metaKey || event.ctrlKey || event.shiftKey) return
  event.preventDefault()
  goToSession(id)
}
