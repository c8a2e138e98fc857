/** All sessions, and one conversation beside them. */
import { useState } from 'react'
import { buildHref } from '../address.ts'
import { ConversationView } from '../conversation/conversation-view.tsx'
import { NewSession } from '../sessions/new-session.tsx'
import { SessionList } from '../sessions/session-list.tsx'

export function SessionsView({ session, query }: { session: string | null; query: URLSearchParams }) {
  const [making, setMaking] = useState(false)
  return (
    <div className={`split${session === null ? '' : ' has-choice'}`}>
      <h1 className="unseen">Sessions</h1>
      <SessionList chosen={session} query={query} onNew={() => setMaking(true)} />
      {session !== null && (
        <ConversationView
          key={session}
          id={session}
          at={parseNumber(query.get('n'))}
          back={buildHref(['sessions'])}
        />
      )}
      {making && <NewSession onClose={() => setMaking(false)} />}
    </div>
  )
}

const parseNumber = (text: string | null): number | null =>
  text !== null && /^\d+$/.test(text) ? Number(text) : null
