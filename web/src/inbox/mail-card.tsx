/** One message between sessions, with what can be done with it and the thread that it belongs to. */
import { useState, type ReactNode } from 'react'
import { clockTime, wholeTime } from '../amounts.ts'
import { userSession } from '../live/fold-mail.ts'
import type { MailFact } from '../live/ledger.ts'
import { useLook } from '../live/use-live.ts'
import { Markdown } from '../parts/markdown.tsx'
import { Name, SessionLink } from '../parts/names.tsx'
import { Problem } from '../parts/states.tsx'
import { threadOf } from './thread.ts'

export function MailCard({ mail, children }: { mail: MailFact; children?: ReactNode }) {
  const live = useLook('mail')
  const thread = threadOf(live.ledger, mail)
  return (
    <>
      <p className="card-head"><Who session={mail.from} mail={mail} /> <span className="arrow" aria-label="to">→</span> {mail.to === null ? <em>{mail.target === 'fork' ? 'a fork of its sender' : 'a new session'}</em> : mail.to === userSession ? <strong>You</strong> : <SessionLink id={mail.to} />} <time className="hint" title={wholeTime(mail.updatedAt)}>{clockTime(mail.updatedAt)}</time>{mail.revisions > 0 && <span className="hint">revised {mail.revisions}×</span>}</p>
      {children ?? <Markdown text={mail.text} />}
      {mail.cause !== '' && <p className="error-line">{mail.cause}</p>}
      {thread.length > 1 && <details className="thread"><summary>Thread of {thread.length}</summary><ol>{thread.map((one) => <li key={one.id} className={one.id === mail.id ? 'chosen' : undefined}><p className="hint"><Who session={one.from} mail={one} /> {clockTime(one.createdAt)} · {one.status}</p><Markdown text={one.text} /></li>)}</ol></details>}
    </>
  )
}

function Who({ session, mail }: { session: string | null; mail: MailFact }) {
  if (mail.source === 'applet') return <strong><Name>{mail.applet ?? 'an applet'}</Name></strong>
  return session === null || session === userSession ? <strong>You</strong> : <SessionLink id={session} />
}

/** Buttons that ask the server for something, and say where it said no. */
export function MailActs({ acts }: { acts: readonly { word: string; tone?: 'primary' | 'danger'; what: string; act: () => Promise<unknown> }[] }) {
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
      <p className="card-acts">{acts.map((one) => <button key={one.word} type="button" className={one.tone ?? ''} disabled={busy} onClick={() => void run(one)}>{one.word}</button>)}</p>
      {problem !== null && <Problem what={problem.what} error={problem.error} />}
    </>
  )
}
