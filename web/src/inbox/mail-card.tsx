/** A message between sessions, with its thread and its actions. */
import { readPages } from '../../../src/client/read-pages.ts'
import { useState, type ReactNode } from 'react'
import { formatTime, formatDateTime } from '../format.ts'
import { takeMail, userSession } from '../live/fold-mail.ts'
import type { MailFact } from '../live/ledger.ts'
import { useLiveTopic } from '../live/use-live.ts'
import { Markdown } from '../parts/markdown.tsx'
import { Name, SessionLink } from '../parts/names.tsx'
import { Problem } from '../parts/states.tsx'
import { useLoaded } from '../parts/use-loaded.ts'
import { collectThread } from './thread.ts'

export function MailCard({ mail, children }: { mail: MailFact; children?: ReactNode }) {
  const live = useLiveTopic('mail')
  const thread = collectThread(live.ledger, mail)
  return (
    <>
      <p className="card-head">
        <Who session={mail.from} mail={mail} />{' '}
        <span className="arrow" aria-label="to">
          →
        </span>{' '}
        {mail.to === null ? (
          <em>{mail.target === 'fork' ? 'a fork of its sender' : 'a new session'}</em>
        ) : mail.to === userSession ? (
          <strong>You</strong>
        ) : (
          <SessionLink id={mail.to} />
        )}{' '}
        {mail.revisions > 0 && <span className="hint">revised {mail.revisions}×</span>}
        {mail.isReleased && <span className="hint">released by you</span>}{' '}
        <time className="hint" title={formatDateTime(mail.updatedAt)}>
          {formatTime(mail.updatedAt)}
        </time>
      </p>
      {children ?? <Markdown text={mail.text} />}
      {mail.cause !== '' && <p className="error-line">{mail.cause}</p>}
      {(mail.inReplyTo !== null || thread.length > 1) && <Thread mail={mail} thread={thread} />}
    </>
  )
}

/** Shows what the page knows of a thread, and reads the rest from the server when it is unfolded. */
function Thread({ mail, thread }: { mail: MailFact; thread: readonly MailFact[] }) {
  const live = useLiveTopic('mail')
  const [opened, setOpened] = useState(false)
  const { error, again } = useLoaded(opened ? mail.id : '', async (signal) => {
    if (!opened) return false
    const seq = live.lastSeq()
    const messages = await readPages((after) =>
      live.client.mail.thread(mail.id, after === null ? {} : { after }, { signal }),
    )
    for (const record of messages) takeMail(live.ledger, record, seq)
    live.topics.touch('mail')
    return true
  })
  return (
    <details className="thread" onToggle={(event) => setOpened(event.currentTarget.open)}>
      <summary>{thread.length > 1 ? `Thread of ${thread.length}` : 'Thread'}</summary>
      {error !== null && <Problem what="Not all of the thread could be read." error={error} retry={again} />}
      <ol>
        {thread.map((one) => (
          <li key={one.id} className={one.id === mail.id ? 'chosen' : undefined}>
            <p className="hint">
              <Who session={one.from} mail={one} /> {formatTime(one.createdAt)} · {one.status}
              {one.isReleased && ', released by you'}
            </p>
            <Markdown text={one.text} />
          </li>
        ))}
      </ol>
    </details>
  )
}

function Who({ session, mail }: { session: string | null; mail: MailFact }) {
  if (mail.source === 'applet')
    return (
      <strong>
        <Name>{mail.applet ?? 'an applet'}</Name>
      </strong>
    )
  return session === null || session === userSession ? <strong>You</strong> : <SessionLink id={session} />
}

export type MailAct = {
  word: string
  tone?: 'primary' | 'danger'
  what: string
  act: () => Promise<unknown>
}

/** Buttons that ask the server for something, with the problem if it refuses. */
export function MailActs({ acts }: { acts: readonly MailAct[] }) {
  const [problem, setProblem] = useState<{ what: string; error: unknown } | null>(null)
  const [busy, setBusy] = useState(false)
  const run = async ({ act, what }: (typeof acts)[number]): Promise<void> => {
    setBusy(true)
    try {
      await act()
      setProblem(null)
    } catch (error) {
      setProblem({ what, error })
    }
    setBusy(false)
  }
  return (
    <>
      <p className="card-acts">
        {acts.map((one) => (
          <button
            key={one.word}
            type="button"
            className={one.tone ?? ''}
            disabled={busy}
            onClick={() => void run(one)}
          >
            {one.word}
          </button>
        ))}
      </p>
      {problem !== null && <Problem what={problem.what} error={problem.error} />}
    </>
  )
}
