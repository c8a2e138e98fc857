/** Where the page is: the part of the address after `#`. A link shows the same thing to whoever opens it. */
import { useMemo, useSyncExternalStore } from 'react'

export type Address = { /** `['sessions', 'ses_1']` */ path: readonly string[]; query: URLSearchParams }

type Query = Readonly<Record<string, string | number | boolean | null | undefined>>

/** What is null, false or empty is left out, so that addresses stay short. */
export function hrefOf(path: readonly string[], query: Query = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== null && value !== undefined && value !== '' && value !== false)
      search.set(name, String(value))
  const text = search.toString()
  return `#/${path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`
}

export function addressOf(hash: string): Address {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  return {
    path: path
      .split('/')
      .filter((part) => part !== '')
      .map(decoded),
    query: new URLSearchParams(query),
  }
}

/** Somebody may have cut a link in the middle of an escape. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** `replace` where going back should not undo it: filters, sliders. */
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
  return useMemo(() => addressOf(hash), [hash])
}

/** Changes parts of the query of where we are. */
export function changeQuery(changes: Query, how: 'push' | 'replace' = 'replace'): void {
  const { path, query } = addressOf(location.hash)
  go(hrefOf(path, { ...Object.fromEntries(query), ...changes }), how)
}

export const toSession = (id: string, n?: number): string => hrefOf(['sessions', id], { n })
export const toFlow = (id: string, query: Query = {}): string => hrefOf(['flows', id], query)

/** Another session, with the search and the filters as they are. */
export function goToSession(id: string): void {
  const { n: _n, ...kept } = Object.fromEntries(addressOf(location.hash).query)
  go(hrefOf(['sessions', id], kept))
}
