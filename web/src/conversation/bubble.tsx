/** A message, coloured by its origin: blue for a person, purple for an agent, grey for a notice. */
import type { ReactNode } from 'react'
import type { MessageSource } from '../../../src/model/event.ts'
import { formatTime, formatDateTime } from '../format.ts'
import { Markdown } from '../parts/markdown.tsx'
import { Name, SessionLink } from '../parts/names.tsx'

export type Origin = {
  source: MessageSource
  from: string | null
  fromAgent: string | null
  applet: string | null
}

export function AskedBubble({
  origin,
  text,
  at,
  actions,
  note,
}: {
  origin: Origin
  text: string
  at: number
  actions?: ReactNode
  note?: ReactNode
}) {
  const hue = origin.source === 'applet' ? { '--hue': pickHue(origin.applet ?? '') } : {}
  return (
    <article
      className={`bubble from-${origin.source}`}
      style={hue as React.CSSProperties}
      aria-label={labelMessage(origin)}
    >
      <header>
        <Sender origin={origin} />{' '}
        <time dateTime={formatIsoTime(at)} title={formatDateTime(at)}>
          {formatTime(at)}
        </time>
        {note}
        <span className="bubble-acts">{actions}</span>
      </header>
      <Markdown text={text} />
    </article>
  )
}

function Sender({ origin: { source, from, fromAgent, applet } }: { origin: Origin }) {
  if (source === 'user') return <strong>You</strong>
  if (source === 'applet')
    return (
      <strong className="applet-brand">
        <span className="applet-mark" aria-hidden="true">
          {takeInitial(applet ?? '?')}
        </span>{' '}
        <Name>{applet ?? 'an applet'}</Name> <span className="hint">applet</span>
      </strong>
    )
  return <strong>{from === null ? <Name>{fromAgent ?? 'an agent'}</Name> : <SessionLink id={from} />}</strong>
}

const takeInitial = (name: string): string => String.fromCodePoint(name.codePointAt(0) ?? 63).toUpperCase()

const labelMessage = ({ source, fromAgent, applet }: Origin): string =>
  source === 'user'
    ? 'Message from you'
    : source === 'applet'
      ? `Message from the applet ${applet ?? ''}`
      : `Message from the agent ${fromAgent ?? ''}`

export const NoticeBubble = ({ about, text, at }: { about: string; text: string; at: number }) => (
  <article className="bubble from-notice" aria-label="Notice">
    <header>
      <strong>Notice</strong> {about.startsWith('ses_') && <SessionLink id={about} />}{' '}
      <time dateTime={formatIsoTime(at)}>{formatTime(at)}</time>
    </header>
    <Markdown text={text} />
  </article>
)

export const formatIsoTime = (at: number): string =>
  new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium' }).format(at).replace(' ', 'T')

/** An applet has the same hue everywhere. */
export function pickHue(name: string): number {
  let sum = 7
  for (const letter of name) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 3600
  return sum / 10
}
