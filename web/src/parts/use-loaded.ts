/**
 * Reads something from the server: at first, when `key` changes, and when an unreachable server is back. The
 * old value stays until the new one is there.
 */
import { useCallback, useEffect, useState } from 'react'
import { ServerUnreachable } from '../../../src/client/tieline-error.ts'
import { useLiveTopic } from '../live/use-live.ts'

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
    // `load` is a new function on every render; the key says what it reads.
  }, [key, round])
  const isOpen = useLiveTopic('connection').connection().state === 'open'
  useEffect(() => {
    if (isOpen && state.error instanceof ServerUnreachable) setRound((known) => known + 1)
  }, [isOpen])
  const again = useCallback(() => setRound((known) => known + 1), [])
  return { value: state.value, error: state.error, loading: state.loading, again }
}
