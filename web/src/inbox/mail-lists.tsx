/** Mail that waits to be accepted, and dead letters. */
import { readPages } from '../../../src/client/read-pages.ts'
import { pluralize } from '../format.ts'
import { isWaiting, takeMail, userSession } from '../live/fold-mail.ts'
import type { MailFact } from '../live/ledger.ts'
import type { Live } from '../live/live.ts'
import { useLiveTopic } from '../live/use-live.ts'
import { Empty, Problem } from '../parts/states.tsx'
import { useLoaded } from '../parts/use-loaded.ts'
import { MailActs, MailCard, type MailAct } from './mail-card.tsx'

export const sortMail = (live: Live, fits: (mail: MailFact) => boolean): MailFact[] =>
  [...live.ledger.mail.values()].filter(fits).sort((a, b) => b.updatedAt - a.updatedAt)

/** Mail that is older than what the page has read comes from the inboxes of the server. */
async function readInboxes(live: Live, signal: AbortSignal): Promise<true> {
  const seq = live.lastSeq()
  const sessions = [...live.ledger.sessions.values()].filter(
    ({ buffered, id }) => buffered > 0 || id === userSession,
  )
  for (const { id } of sessions)
    for (const record of await readPages((after) =>
      live.client.mail.inbox(id, after === null ? {} : { after }, { signal }),
    ))
      takeMail(live.ledger, record, seq)
  live.topics.touch('mail')
  return true
}

/** Only the client can work on it; the user's own mail is the user's. */
const isForClient = ({ ledger }: Live, { to }: MailFact): boolean =>
  to !== null && to !== userSession && ledger.sessions.get(to)?.kind === 'external'

function acceptOf(live: Live, mail: MailFact): MailAct[] {
  const forClient = isForClient(live, mail)
  if (forClient && mail.status === 'ready') return []
  return [
    {
      word: forClient ? 'Release' : 'Accept',
      tone: 'primary',
      what: forClient ? 'It was not released.' : 'It was not accepted.',
      act: () => live.client.mail.accept(mail.to ?? '', mail.id),
    },
  ]
}

export function WaitingMail() {
  const live = useLiveTopic('mail')
  const { error, again } = useLoaded(live.loaded().lists ? 'read' : 'wait', (signal) =>
    readInboxes(live, signal),
  )
  const mail = sortMail(live, isWaiting)
  return (
    <>
      {error !== null && <Problem what="Not all inboxes could be read." error={error} retry={again} />}
      {mail.length === 0 ? (
        <Empty title="No mail waits.">
          <p>
            A message to a session that did not ask for it waits here until it is accepted. Send one with
            “Into its inbox”.
          </p>
        </Empty>
      ) : (
        <ul className="cards">
          {mail.map((one) => (
            <li key={one.id} className={`card from-${one.source}`}>
              <MailCard mail={one} />
              {isForClient(live, one) && one.status === 'ready' && (
                <p className="hint">Released. The client takes it when it looks into its inbox.</p>
              )}
              <MailActs
                acts={[
                  ...acceptOf(live, one),
                  {
                    word: 'Decline',
                    tone: 'danger',
                    what: 'It was not declined.',
                    act: () => live.client.mail.decline(one.id),
                  },
                ]}
              />
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

export function DeadLetters() {
  const live = useLiveTopic('mail')
  const { error, again } = useLoaded('dead', async (signal) => {
    const seq = live.lastSeq()
    for (const record of await readPages((before) =>
      live.client.mail.deadLetters(before === null ? {} : { before }, { signal }),
    ))
      takeMail(live.ledger, record, seq)
    live.topics.touch('mail')
    return true
  })
  const mail = sortMail(live, ({ status }) => status === 'dead')
  if (error !== null)
    return <Problem what="The dead letters could not be read." error={error} retry={again} />
  if (mail.length === 0)
    return (
      <Empty title="No dead letters.">
        <p>A message whose receiver is gone before it was accepted is kept here.</p>
      </Empty>
    )
  return (
    <>
      <p className="hint">{pluralize(mail.length, 'message')} whose receiver is gone.</p>
      <ul className="cards">
        {mail.map((one) => (
          <li key={one.id} className="card">
            <MailCard mail={one} />
          </li>
        ))}
      </ul>
    </>
  )
}
