/** Notices of all sessions: late results, and children that failed. */
import { formatTime, formatDateTime } from '../format.ts'
import { useLiveTopic } from '../live/use-live.ts'
import { Markdown } from '../parts/markdown.tsx'
import { SessionLink } from '../parts/names.tsx'
import { Empty } from '../parts/states.tsx'

const shownMax = 200

export function NoticeList() {
  const live = useLiveTopic('notices')
  const notices = live.ledger.notices.slice(-shownMax).toReversed()
  if (notices.length === 0)
    return (
      <Empty title="No notices.">
        <p>When a spawned session fails, or a result comes too late for its call, it is said here.</p>
      </Empty>
    )
  return (
    <ul className="cards">
      {notices.map((notice) => (
        <li key={notice.seq} className="card from-notice">
          <p className="card-head">
            To <SessionLink id={notice.session} />
            {notice.about.startsWith('ses_') && (
              <>
                {' '}
                about <SessionLink id={notice.about} />
              </>
            )}{' '}
            <time className="hint" title={formatDateTime(notice.at)}>
              {formatTime(notice.at)}
            </time>
          </p>
          <Markdown text={notice.text} />
        </li>
      ))}
    </ul>
  )
}
