/** The location of the page is the part of the address after `#`, so that links can be shared. */
import { useMemo, useSyncExternalStore } from 'react'

export type Address = { /** `['sessions', 'ses_1']` */ path: readonly string[]; query: URLSearchParams }

type Query = Readonly<Record<string, string | number | boolean | null | undefined>>

/** Leaves out what is null, false or empty, so that addresses stay short. */
export function buildHref(path: readonly string[], query: Query = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== null && value !== undefined && value !== '' && value !== false)
      search.set(name, String(value))
  const text = search.toString()
  return `#/${path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`
}

export function parseAddress(hash: string): Address {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  return {
    path: path
      .split('/')
      .filter((part) => part !== '')
      .map(decodePart),
    query: new URLSearchParams(query),
  }
}

/** A link may have been cut in the middle of an escape sequence. */
function decodePart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Use `replace` for filters and sliders, which the back button should not undo. */
export function go(href: string, how: 'push' | 'replace' = 'push'): void {
  if (how === 'push') location.hash = href
  else {
    history.replaceState(null, '', href)
    window.dispatchEvent(new HashChangeEvent('hashchange'))
  }
}

function subscribe(listener: () => void): () => void {
  window.addEventListener('hashchange', listener)
  return () => window.removeEventListener('hashchange', listener)
}

export function useAddress(): Address {
  const hash = useSyncExternalStore(subscribe, () => location.hash)
  return useMemo(() => parseAddress(hash), [hash])
}

/** Changes parts of the current query. */
export function changeQuery(changes: Query, how: 'push' | 'replace' = 'replace'): void {
  const { path, query } = parseAddress(location.hash)
  go(buildHref(path, { ...Object.fromEntries(query), ...changes }), how)
}

export const linkToSession = (id: string, n?: number): string => buildHref(['sessions', id], { n })
export const linkToFlow = (id: string, query: Query = {}): string => buildHref(['flows', id], query)

/** Goes to another session and keeps the search and the filters. */
export function goToSession(id: string): void {
  const { n: _n, ...kept } = Object.fromEntries(parseAddress(location.hash).query)
  go(buildHref(['sessions', id], kept))
}
