/** One conversation: its head, its entries, the turns that run, and the form for a message. */
import { useEffect, useState } from 'react'
import { TielineError } from '../../../src/client/tieline-error.ts'
import { go, linkToSession } from '../address.ts'
import { useKeys } from '../keys.ts'
import { useLive, useLiveTopic } from '../live/use-live.ts'
import { NeedsHere } from '../needs/need-card.tsx'
import { Empty, Loading, Problem } from '../parts/states.tsx'
import { useLoaded } from '../parts/use-loaded.ts'
import { Composer } from './composer.tsx'
import { ConversationHead } from './conversation-head.tsx'
import { EntryList } from './entry-list.tsx'
import { openHistory, type History } from './history.ts'

export function ConversationView({ id, at, back }: { id: string; at: number | null; back: string }) {
  const live = useLiveTopic(`session:${id}`)
  const session = live.ledger.sessions.get(id)
  const isKnown = session !== undefined && (session.agent !== '' || session.kind !== 'ephemeral')
  // A link may name a session that is in no list: an old one, or one that does not exist.
  const found = useLoaded(isKnown ? '' : id, async () =>
    isKnown ? null : await live.refreshSession(id).then(() => true),
  )
  useKeys({
    Escape: () => leaveOrGoBack(back),
    c: () => document.querySelector<HTMLElement>('#write')?.focus(),
  })
  const unknown = !isKnown && found.error instanceof TielineError && found.error.status === 404
  return (
    <section className="conversation" aria-label="Conversation">
      <ConversationHead id={id} back={back} />
      {unknown ? (
        <Empty title="There is no such session.">
          <p>
            The link is cut, or from another server. <a href={back}>All sessions</a>
          </p>
        </Empty>
      ) : (
        <Body id={id} at={at} />
      )}
      {!unknown && <NeedsHere session={id} />}
      {!unknown && session?.kind === 'persistent' && <Composer id={id} />}
    </section>
  )
}

function leaveOrGoBack(back: string): void {
  const field = document.activeElement
  if (field instanceof HTMLElement && ['INPUT', 'TEXTAREA', 'SELECT'].includes(field.tagName)) field.blur()
  else location.hash = back
}

function Body({ id, at }: { id: string; at: number | null }) {
  const live = useLive()
  const [history, setHistory] = useState<History | null>(null)
  const [forkProblem, setForkProblem] = useState<unknown>(null)
  useEffect(() => {
    const opened = openHistory(live, id)
    setHistory(opened)
    return () => opened.stop()
  }, [live, id])
  const isOpen = useLiveTopic('connection').connection().state === 'open'
  useEffect(() => {
    if (isOpen && history !== null && (history.isEarly() || history.problem() !== null)) history.refresh()
  }, [isOpen, history])
  const fork = async (n: number, total: number): Promise<void> => {
    try {
      const { sessionId } = await live.client.sessions.fork(id, { back: total - n })
      go(linkToSession(sessionId))
    } catch (error) {
      setForkProblem(error)
    }
  }
  return (
    <>
      {forkProblem !== null && <Problem what="It was not forked." error={forkProblem} />}
      {history === null ? (
        <Loading what="the conversation" />
      ) : (
        <Entries id={id} at={at} history={history} onFork={(n) => void fork(n, history.total() ?? n)} />
      )}
    </>
  )
}

function Entries({
  id,
  at,
  history,
  onFork,
}: {
  id: string
  at: number | null
  history: History
  onFork: (n: number) => void
}) {
  useLiveTopic(history.topic)
  const total = history.total()
  const problem = history.problem()
  if (total === null)
    return problem === null ? (
      <Loading what="the conversation" />
    ) : (
      <Problem what="The conversation could not be read." error={problem} retry={() => history.refresh()} />
    )
  return <EntryList id={id} at={at} history={history} total={total} onFork={onFork} />
}
