/** A session made by a call has no conversation: its question and answer are in the record of the call. */
import type { ReactNode } from 'react'
import { linkToFlow } from '../address.ts'
import { useLive } from '../live/use-live.ts'
import { OutcomeBadge } from '../parts/badges.tsx'
import { Markdown } from '../parts/markdown.tsx'
import { useLoaded } from '../parts/use-loaded.ts'
import { AskedBubble } from './bubble.tsx'

const callsMax = 20

export function PastCall({ id, otherwise }: { id: string; otherwise: ReactNode }) {
  const live = useLive()
  const { value } = useLoaded(id, async (signal) => {
    const calls = await live.client.calls.list({ session: id, limit: callsMax }, { signal })
    const records = await Promise.all(calls.map(({ call }) => live.client.calls.get(call, { signal })))
    return records.filter((record) => record.targetSession === id)
  })
  if (value === null || value.length === 0) return otherwise
  return (
    <div className="entries-still">
      {value.map((record) => (
        <div className="entry" key={record.call}>
          <AskedBubble
            origin={{ source: 'agent', from: record.callerSession, fromAgent: record.caller, applet: null }}
            text={record.task}
            at={record.created_at}
          />
          <article className="answer" aria-label="Answer">
            <header>
              <OutcomeBadge outcome={record.outcome} />
              {record.flow !== null && (
                <a className="quiet" href={linkToFlow(record.flow, { call: record.call })}>
                  Flow
                </a>
              )}
            </header>
            {record.output !== '' && <Markdown text={record.output} />}
            {record.errors.map((error, index) => (
              <p className="error-line" key={index}>
                {error}
              </p>
            ))}
          </article>
        </div>
      ))}
    </div>
  )
}
