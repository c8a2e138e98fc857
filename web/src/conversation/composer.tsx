/** The form for a message, which is sent at once, queued, or put into the inbox. */
import { useState } from 'react'
import type { SentMessage } from '../../../src/wire/sessions.ts'
import { useLive } from '../live/use-live.ts'
import { Problem } from '../parts/states.tsx'

const deliveries = [
  { value: 'auto', word: 'Now, or queued if busy' },
  { value: 'now', word: 'Now, or not at all' },
  { value: 'buffer', word: 'Into its inbox, to be accepted' },
] as const
type Delivery = (typeof deliveries)[number]['value']

const sentWords: Record<SentMessage['status'], string> = {
  dispatched: 'Sent; it is working on it.',
  queued: 'Queued behind what it does now.',
  buffered: 'In its inbox, until it is accepted.',
  draft: 'Kept as a draft, until you release it.',
}

export function Composer({ id }: { id: string }) {
  const live = useLive()
  const [text, setText] = useState('')
  const [delivery, setDelivery] = useState<Delivery>('auto')
  const [said, setSaid] = useState('')
  const [problem, setProblem] = useState<unknown>(null)
  const send = async (): Promise<void> => {
    if (text.trim() === '') return
    const whole = text
    setText('')
    setProblem(null)
    try {
      const sent = await live.client.sessions.send(id, { message: whole, delivery })
      setSaid(sentWords[sent.status])
    } catch (error) {
      // Keep what was written.
      setText((now) => (now === '' ? whole : now))
      setSaid('')
      setProblem(error)
    }
  }
  return (
    <form
      className="composer"
      aria-label="Write a message"
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
    >
      {problem !== null && <Problem what="It was not sent." error={problem} />}
      <textarea
        id="write"
        aria-label="Message"
        rows={2}
        value={text}
        placeholder="Write a message"
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
          event.preventDefault()
          void send()
        }}
      />
      <div className="composer-end">
        <label>
          <span className="unseen">Delivery</span>
          <select value={delivery} onChange={(event) => setDelivery(event.target.value as Delivery)}>
            {deliveries.map(({ value, word }) => (
              <option key={value} value={value}>
                {word}
              </option>
            ))}
          </select>
        </label>
        <span className="hint" role="status">
          {said}
        </span>
        <span className="hint keys-hint">
          <kbd>Ctrl</kbd> <kbd>Enter</kbd>
        </span>
        <button type="submit" className="primary" disabled={text.trim() === ''}>
          Send
        </button>
      </div>
    </form>
  )
}
