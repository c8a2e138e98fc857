/** Says when the server cannot record anything: no event could tell the page so, since none is recorded. */
import { useEffect, useState } from 'react'
import type { Health } from '../../src/wire/server.ts'
import { after } from './browser-clock.ts'
import { useLiveTopic } from './live/use-live.ts'

const lookAgainMs = 5000

export function StoreBar() {
  const live = useLiveTopic('connection')
  const isOpen = live.connection().state === 'open'
  const [store, setStore] = useState<Health['store'] | null>(null)
  useEffect(() => {
    if (!isOpen) return
    const over = new AbortController()
    let callOff = (): void => undefined
    const look = (): void => {
      live.client.health({ signal: over.signal }).then(
        (health) => setStore(health.store ?? null),
        () => undefined,
      )
      callOff = after(lookAgainMs, look)
    }
    look()
    return () => {
      over.abort()
      callOff()
    }
  }, [isOpen])
  if (!isOpen || store == null || store.status === 'ok') return null
  const free = store.freeBytes === null ? '' : ` (${(store.freeBytes / 1_000_000).toFixed(1)} MB free)`
  return (
    <p className="bar bar-bad" role="alert">
      The server cannot record anything now: {store.reason}
      {free}. {store.cure} You can still read everything.
    </p>
  )
}
