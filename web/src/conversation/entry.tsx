/** One entry of a conversation: a question, or an answer with the steps that led to it. */
import { useState } from 'react'
import type { HistoryEntry } from '../../../src/wire/sessions.ts'
import { buildHref, linkToFlow } from '../address.ts'
import { formatTime, pluralize, formatDateTime } from '../format.ts'
import type { NoticeFact } from '../live/ledger.ts'
import { readLog } from '../live/read-log.ts'
import { addToDetail, createDetail, findTurns, type TurnDetail } from '../live/turn-details.ts'
import { useLive } from '../live/use-live.ts'
import type { Live } from '../live/live.ts'
import { OutcomeBadge } from '../parts/badges.tsx'
import { Markdown } from '../parts/markdown.tsx'
import { Loading, Problem } from '../parts/states.tsx'
import { useLoaded } from '../parts/use-loaded.ts'
import { AskedBubble, formatIsoTime, NoticeBubble } from './bubble.tsx'
import { TurnSteps } from './turn-steps.tsx'

type Props = {
  session: string
  entry: HistoryEntry
  notices: readonly NoticeFact[]
  isMarked: boolean
  onFork: (n: number) => void
}

export function Entry({ session, entry, notices, isMarked, onFork }: Props) {
  const acts = (
    <>
      <a
        className="quiet"
        href={buildHref(['sessions', session], { n: entry.n })}
        title="A link to this message"
      >
        #{entry.n}
      </a>{' '}
      <button
        type="button"
        className="quiet"
        onClick={() => onFork(entry.n)}
        title="A new session that begins with the conversation up to here"
      >
        Fork
      </button>
    </>
  )
  return (
    <div className={`entry${isMarked ? ' marked' : ''}`}>
      {entry.role === 'user' ? (
        <AskedBubble
          origin={{
            source: entry.source ?? 'user',
            from: entry.from,
            fromAgent: entry.fromAgent,
            applet: entry.applet,
          }}
          text={entry.text}
          at={entry.at}
          actions={acts}
        />
      ) : (
        <Answered session={session} entry={entry} acts={acts} />
      )}
      {notices.map((notice) => (
        <NoticeBubble key={notice.seq} about={notice.about} text={notice.text} at={notice.at} />
      ))}
    </div>
  )
}

function Answered({ session, entry, acts }: { session: string; entry: HistoryEntry; acts: React.ReactNode }) {
  const live = useLive()
  const turn = live.ledger.turns.get(entry.turn)
  return (
    <article className="answer" aria-label="Answer">
      <header>
        {entry.outcome !== null && entry.outcome !== 'completed' && <OutcomeBadge outcome={entry.outcome} />}{' '}
        <time dateTime={formatIsoTime(entry.at)} title={formatDateTime(entry.at)}>
          {formatTime(entry.at)}
        </time>
        {turn?.flow != null && (
          <a className="quiet" href={linkToFlow(turn.flow)}>
            Flow
          </a>
        )}
        <span className="bubble-acts">{acts}</span>
      </header>
      {entry.toolCalls.length > 0 && <PastSteps session={session} entry={entry} />}
      {/* Without an answer, the entry holds the error in brackets for models to read. */}
      {entry.text !== '' && entry.text !== `[${entry.error ?? ''}]` && <Markdown text={entry.text} />}
      {entry.error !== null && (
        <p className="error-line" role="note">
          {entry.error}
        </p>
      )}
    </article>
  )
}

/** The steps are read when they are unfolded. */
function PastSteps({ session, entry }: { session: string; entry: HistoryEntry }) {
  const [open, setOpen] = useState(false)
  const uses = Map.groupBy(entry.toolCalls, (name) => name)
  const names = [...uses].map(([name, { length }]) => (length === 1 ? name : `${name} ×${length}`))
  return (
    <details className="past-steps" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {pluralize(uses.size, 'tool')}: {names.join(', ')}
      </summary>
      {open && <ReadSteps session={session} turn={entry.turn} answer={entry.text} />}
    </details>
  )
}

function ReadSteps({ session, turn, answer }: { session: string; turn: string; answer: string }) {
  const live = useLive()
  const { value, error, again } = useLoaded(turn, (signal) => readDetail(live, session, turn, signal))
  if (error !== null) return <Problem what="The steps could not be read." error={error} retry={again} />
  return value === null ? (
    <Loading what="the steps" />
  ) : (
    <TurnSteps items={value.items} answer={answer} count={String(value.items.length)} />
  )
}

async function readDetail(
  live: Live,
  session: string,
  turn: string,
  signal: AbortSignal,
): Promise<TurnDetail> {
  const kept = live.details.get(turn)
  if (kept?.ended === true) return kept
  const fact = live.ledger.turns.get(turn)
  const detail = createDetail(turn)
  // If the turn is older than what the page has read, its session is read from the beginning.
  await readLog(
    live.client,
    {
      after: fact === undefined ? 0 : fact.openedSeq - 1,
      until: fact?.endedSeq ?? live.lastSeq(),
      sessions: [session],
    },
    (streamed) => {
      if (findTurns(streamed.event).includes(turn)) addToDetail(detail, streamed)
    },
    signal,
    ({ event }) => event.type === 'turn.ended' && event.turn === turn,
  )
  if (detail.ended) live.details.put(detail)
  return detail
}
