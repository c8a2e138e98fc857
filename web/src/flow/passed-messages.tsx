/** Which messages of its caller a callee was shown, and which were left out. */
import type { Manifest } from '../../../src/model/context.ts'
import type { HistoryEntry } from '../../../src/wire/sessions.ts'
import { pluralize, takeFirstLine } from '../format.ts'
import { useLive } from '../live/use-live.ts'
import { Problem } from '../parts/states.tsx'
import { useLoaded } from '../parts/use-loaded.ts'

type Messages = NonNullable<Manifest['messages']>

const dropWords: Record<string, string> = {
  age: 'too old',
  roles: 'of other roles',
  keywords: 'without a keyword',
  last: 'before the last ones asked for',
  last_messages: 'before the last ones asked for',
  fit: 'did not fit the budget',
  budget: 'did not fit the budget',
  tokens: 'did not fit the budget',
}

/** R11: of a long conversation the newest. */
const shownMax = 50
const textMax = 600

export function PassedMessages({ messages }: { messages: Messages | null }) {
  if (messages === null) return <p className="hint">No messages were asked for, so none were passed.</p>
  const dropped = Object.entries(messages.dropped).filter(([, count]) => count > 0)
  return (
    <>
      <p>
        {messages.passed.length} of {pluralize(messages.total, 'message')} of the caller passed
        {messages.roles === null ? '' : ` (${messages.roles.join(', ')})`}
      </p>
      {dropped.length > 0 && (
        <ul className="dropped">
          {dropped.map(([why, count]) => (
            <li key={why}>
              <span className="number">{count}</span> dropped: {dropWords[why] ?? why}
            </li>
          ))}
        </ul>
      )}
      {messages.total > 0 && <MessageList messages={messages} />}
    </>
  )
}

function MessageList({ messages }: { messages: Messages }) {
  const live = useLive()
  const { session, total } = messages
  const { value, error, again } = useLoaded(`passed ${session} ${total}`, (signal) =>
    live.client.sessions.history(session, { before: total + 1, limit: shownMax }, { signal }),
  )
  if (error !== null) return <Problem what="The messages could not be read." error={error} retry={again} />
  if (value === null) return <p className="hint">Reading the messages …</p>
  const passed = new Set(messages.passed)
  const present = messages.present ?? null
  return (
    <>
      <ol className="passed-list" aria-label="Messages of the caller">
        {value.messages.map((entry) => (
          <MessageItem key={entry.n} entry={entry} isPassed={passed.has(entry.n)} />
        ))}
      </ol>
      {present !== null && <p className="hint">The request that the caller was working on was passed too.</p>}
      {total > value.messages.length && (
        <p className="hint">{pluralize(total - value.messages.length, 'older message')} not shown.</p>
      )}
    </>
  )
}

function MessageItem({ entry, isPassed }: { entry: HistoryEntry; isPassed: boolean }) {
  return (
    <li className={isPassed ? 'passed' : 'left-out'}>
      <details>
        <summary>
          <span className={`badge tone-${isPassed ? 'good' : 'rest'}`}>
            {isPassed ? 'passed' : 'dropped'}
          </span>{' '}
          <span className="hint">
            #{entry.n} {entry.role}
          </span>{' '}
          <bdi>{takeFirstLine(entry.text, 120)}</bdi>
        </summary>
        <p className="passed-text">
          <bdi>{entry.text.length > textMax ? `${entry.text.slice(0, textMax)} …` : entry.text}</bdi>
        </p>
      </details>
    </li>
  )
}
