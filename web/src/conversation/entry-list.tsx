/** Draws only the entries in sight. The list follows new entries if it is scrolled to the end. */
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef } from 'react'
import type { HistoryEntry } from '../../../src/wire/sessions.ts'
import type { NoticeFact } from '../live/ledger.ts'
import { useLiveTopic } from '../live/use-live.ts'
import { Empty } from '../parts/states.tsx'
import { Entry } from './entry.tsx'
import type { History } from './history.ts'
import { LiveTurn } from './live-turn.tsx'
import { findLooseTurns } from './loose-turns.ts'
import { PastCall } from './past-call.tsx'
import { NoticeBubble } from './bubble.tsx'

const entryHeight = 96

type Props = { id: string; at: number | null; history: History; total: number; onFork: (n: number) => void }

export function EntryList({ id, at, history, total, onFork }: Props) {
  const live = useLiveTopic(`session:${id}`)
  useLiveTopic('notices')
  const scroller = useRef<HTMLDivElement>(null)
  const turns = findLooseTurns(live.ledger, id, history, total)
  const count = total + turns.length
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => entryHeight,
    overscan: 6,
    gap: 10,
    paddingStart: 12,
    paddingEnd: 12,
    anchorTo: 'end',
    followOnAppend: true,
    scrollEndThreshold: 120,
    getItemKey: (index) => (index < total ? index + 1 : (turns[index - total]?.id ?? index)),
  })
  useEffect(() => {
    if (at === null) virtual.scrollToEnd()
    else virtual.scrollToIndex(Math.max(0, at - 1), { align: 'center' })
    // Only when another conversation, or another place in it, is opened.
  }, [id, at])
  const items = virtual.getVirtualItems()
  useEffect(() => {
    for (const item of items) if (item.index < total) history.want(item.index + 1)
  }, [items, total, history])
  const notices = live.ledger.notices.filter(({ session }) => session === id)
  if (count === 0) return <Nothing id={id} notices={notices} />
  return (
    <div
      className="entries"
      ref={scroller}
      tabIndex={0}
      role="log"
      aria-label="Messages"
      aria-busy={turns.some(({ endedAt }) => endedAt === null)}
    >
      <div style={{ height: virtual.getTotalSize(), position: 'relative' }}>
        {items.map((item) => {
          const turn = turns[item.index - total]
          return (
            <div
              key={item.key}
              data-index={item.index}
              ref={virtual.measureElement}
              className="entry-slot"
              style={{ transform: `translateY(${item.start}px)` }}
            >
              {turn !== undefined ? (
                <LiveTurn turn={turn} />
              ) : (
                <PastEntry
                  session={id}
                  n={item.index + 1}
                  history={history}
                  notices={notices}
                  marked={at}
                  onFork={onFork}
                />
              )}
            </div>
          )
        })}
      </div>
    </div>
  )
}

function Nothing({ id, notices }: { id: string; notices: readonly NoticeFact[] }) {
  return (
    <div className="entries">
      <div className="entries-still">
        {notices.map((notice) => (
          <NoticeBubble key={notice.seq} about={notice.about} text={notice.text} at={notice.at} />
        ))}
      </div>
      <PastCall
        id={id}
        otherwise={
          <Empty title="Nothing was said here yet.">
            <p>Write a message below. The agent answers at once if it is idle.</p>
          </Empty>
        }
      />
    </div>
  )
}

type PastProps = {
  session: string
  n: number
  history: History
  notices: readonly NoticeFact[]
  marked: number | null
  onFork: (n: number) => void
}

function PastEntry({ session, n, history, notices, marked, onFork }: PastProps) {
  const entry = history.entry(n)
  if (entry === undefined) return <div className="entry-blank" aria-hidden="true" />
  return (
    <Entry
      session={session}
      entry={entry}
      notices={findNotices(entry, history.entry(n + 1), notices, n === history.total())}
      isMarked={marked === n}
      onFork={onFork}
    />
  )
}

/** The notices that came after an entry and before the next one. */
const findNotices = (
  entry: HistoryEntry,
  next: HistoryEntry | undefined,
  notices: readonly NoticeFact[],
  isLast: boolean,
): NoticeFact[] => notices.filter(({ at }) => at >= entry.at && (next === undefined ? isLast : at < next.at))
