/** A value that changes at most once in a while, so that a burst of events is one request. */
import { useEffect, useRef, useState } from 'react'
import { after } from '../browser-clock.ts'

const calmMs = 400

/** However fast `version` changes, the newest one is taken every `calmMs`: a steady stream starves nobody. */
export function useCalm(version: string): string {
  const [calm, setCalm] = useState(version)
  const newest = useRef(version)
  const cancel = useRef<(() => void) | null>(null)
  useEffect(() => {
    newest.current = version
    if (version === calm || cancel.current !== null) return
    cancel.current = after(calmMs, () => {
      cancel.current = null
      setCalm(newest.current)
    })
  }, [version, calm])
  useEffect(() => () => cancel.current?.(), [])
  return calm
}
