/**
 * Something of the server, read when it is first looked at and again when `key` changes, or when a server
 * that was away is back; what was there stays until the new is.
 */
import { useCallback, useEffect, useState } from 'react'
import { ServerUnreachable } from '../../../src/client/tieline-error.ts'
import { useLook } from '../live/use-live.ts'

export type Loaded<T> = { value: T | null; error: unknown; loading: boolean; again: () => void }

export function useLoaded<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ key: string; value: T | null; error: unknown; loading: boolean }>({
    key: '',
    value: null,
    error: null,
    loading: true,
  })
  const [round, setRound] = useState(0)
  useEffect(() => {
    const controller = new AbortController()
    setState((known) => ({ ...known, key, loading: true }))
    load(controller.signal).then(
      (value) => controller.signal.aborted || setState({ key, value, error: null, loading: false }),
      (error: unknown) => controller.signal.aborted || setState({ key, value: null, error, loading: false }),
    )
    return () => controller.abort()
    // `load` is made anew with each drawing; what it reads is named by the key.
  }, [key, round])
  const isOpen = useLook('connection').connection().state === 'open'
  useEffect(() => {
    if (isOpen && state.error instanceof ServerUnreachable) setRound((known) => known + 1)
  }, [isOpen])
  const again = useCallback(() => setRound((known) => known + 1), [])
  return { value: state.value, error: state.error, loading: state.loading, again }
}
