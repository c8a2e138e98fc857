/** Whether the window is as narrow as a phone's, for what a style cannot decide. */
import { useSyncExternalStore } from 'react'

const narrow = matchMedia('(max-width: 30rem)')

const subscribe = (changed: () => void): (() => void) => {
  narrow.addEventListener('change', changed)
  return () => narrow.removeEventListener('change', changed)
}

export const useNarrow = (): boolean => useSyncExternalStore(subscribe, () => narrow.matches)
