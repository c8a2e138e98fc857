/** What a view shows when it is empty, loading or broken: what happened and what to do. */
import type { ReactNode } from 'react'
import { ServerUnreachable, TielineError } from '../../../src/client/tieline-error.ts'

export const Empty = ({ title, children }: { title: string; children?: ReactNode }) => (
  <div className="empty">
    <p className="empty-title">{title}</p>
    {children}
  </div>
)

export const Loading = ({ what }: { what: string }) => (
  <p className="loading" role="status">
    Reading {what}…
  </p>
)

export const describeError = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

const capitalize = (words: string): string => `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`

export function Problem({
  error,
  what,
  retry,
}: {
  error: unknown
  what: string
  retry?: (() => void) | undefined
}) {
  return (
    <div className="problem" role="alert">
      <p>
        <strong>{what}</strong> {capitalize(describeError(error))}
      </p>
      <p className="hint">{suggestFix(error)}</p>
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

function suggestFix(error: unknown): string {
  if (error instanceof ServerUnreachable)
    return 'Is the server still running? Start it again with “tieline serve”; this page reconnects by itself.'
  if (error instanceof TielineError && error.status === 404)
    return 'It may have been removed, or the link is from another server.'
  if (error instanceof TielineError && error.status === 429) return 'Too many requests. Wait a moment.'
  return ''
}
