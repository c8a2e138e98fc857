/** The store of the page, for components. */
import { createContext, useCallback, useContext, useSyncExternalStore } from 'react'
import type { SessionFact } from './ledger.ts'
import type { Live } from './live.ts'

export const LiveContext = createContext<Live | null>(null)

export function useLive(): Live {
  const live = useContext(LiveContext)
  if (live === null) throw new Error('there is no store above this component')
  return live
}

/** Redraws the component when the topic changes. */
export function useLiveTopic(topic: string): Live {
  const live = useLive()
  const { topics } = live
  const subscribe = useCallback((listener: () => void) => topics.subscribe(topic, listener), [topics, topic])
  useSyncExternalStore(subscribe, () => topics.version(topic))
  return live
}

export function useSession(id: string): SessionFact | undefined {
  return useLiveTopic(`session:${id}`).ledger.sessions.get(id)
}
