/** Messages that agents or the user have not sent yet. A person can change, release or discard them. */
import { useState } from 'react'
import { readPages } from '../../../src/client/read-pages.ts'
import { takeMail, userSession } from '../live/fold-mail.ts'
import type { MailFact } from '../live/ledger.ts'
import type { Live } from '../live/live.ts'
import { useLiveTopic } from '../live/use-live.ts'
import { Empty, Problem } from '../parts/states.tsx'
import { useLoaded } from '../parts/use-loaded.ts'
import { MailActs, MailCard } from './mail-card.tsx'
import { sortMail } from './mail-lists.tsx'

const rowsMin = 3
const rowsMax = 14

/** Drafts that are older than what the page has read come from the list of the server. */
async function readDrafts(live: Live, signal: AbortSignal): Promise<true> {
  const seq = live.lastSeq()
  for (const record of await readPages((before) =>
    live.client.mail.drafts(null, before === null ? {} : { before }, { signal }),
  ))
    takeMail(live.ledger, record, seq)
  live.topics.touch('mail')
  return true
}

export function Drafts() {
  const live = useLiveTopic('mail')
  const { error, again, loading } = useLoaded(live.loaded().log ? 'read' : 'wait', (signal) =>
    readDrafts(live, signal),
  )
  const mail = sortMail(live, ({ status }) => status === 'draft')
  return (
    <>
      {error !== null && <Problem what="Not all drafts could be read." error={error} retry={again} />}
      {mail.length === 0 ? (
        !loading && (
          <Empty title="No drafts.">
            <p>
              An agent that sends with <code>draft: true</code> leaves its message here, to be read, changed
              and released. With <code>draft = true</code> under <code>[tools.defaults.send-message]</code> in
              the configuration, all of them do.
            </p>
          </Empty>
        )
      ) : (
        <ul className="cards">
          {mail.map((one) => (
            <li key={one.id} className={`card from-${one.source}`}>
              <DraftCard mail={one} />
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

/** What the person typed, and the version of the draft it is based on. */
type Edit = { text: string; version: string }

function DraftCard({ mail }: { mail: MailFact }) {
  const live = useLiveTopic('mail')
  const [edit, setEdit] = useState<Edit | null>(null)
  // Facts change in place. What counts is the version that the person sees, which is the one drawn last.
  const seen = edit?.version ?? mail.version
  const text = edit?.text ?? mail.text
  const isChanged = text !== mail.text
  const isOvertaken = edit !== null && edit.version !== mail.version
  const isAgents = mail.from !== null && mail.from !== userSession
  // The server refuses a version that has changed since, so that nobody releases text they have not read.
  const save = async (): Promise<string> => {
    if (!isChanged) return seen
    const { updated_at } = await live.client.mail.revise(mail.id, text, { ifUpdatedAt: seen })
    setEdit(null)
    return updated_at
  }
  return (
    <>
      <MailCard mail={mail}>
        <label className="draft">
          <span className="unseen">Text of the draft</span>
          <textarea
            rows={Math.min(rowsMax, Math.max(rowsMin, mail.text.split('\n').length + 1))}
            value={text}
            onChange={(event) => setEdit({ text: event.target.value, version: seen })}
          />
        </label>
      </MailCard>
      {isOvertaken && isChanged && (
        <p className="error-line" role="status">
          It was changed meanwhile.{' '}
          <button type="button" onClick={() => setEdit(null)}>
            Show it as it is now
          </button>
        </p>
      )}
      {mail.initial !== mail.text && (
        <details>
          <summary>As it was first written</summary>
          <p className="md md-plain">{mail.initial}</p>
        </details>
      )}
      {isAgents && (
        <p className="hint">
          Released, it is still from the agent that wrote it; the log says that you sent it.
        </p>
      )}
      <MailActs
        acts={[
          {
            word: isChanged ? 'Save and release' : 'Release',
            tone: 'primary',
            what: 'It was not released.',
            act: async () => live.client.mail.release(mail.id, { ifUpdatedAt: await save() }),
          },
          ...(isChanged ? [{ word: 'Save', what: 'It was not saved.', act: save }] : []),
          {
            word: 'Throw away',
            tone: 'danger' as const,
            what: 'It was not thrown away.',
            act: () => live.client.mail.decline(mail.id),
          },
        ]}
      />
    </>
  )
}
