/** The store of the page, for components. */
import { createContext, useContext } from 'react'
import type { SessionFact } from './ledger.ts'
import type { Live } from './live.ts'
import { useTopic } from './topics.ts'

export const LiveContext = createContext<Live | null>(null)

export function useLive(): Live {
  const live = useContext(LiveContext)
  if (live === null) throw new Error('there is no store above this component')
  return live
}

/** Draws again when one of these changes. */
export function useLook(topic: string): Live {
  const live = useLive()
  useTopic(live.topics, topic)
  return live
}

export function useSession(id: string): SessionFact | undefined {
  return useLook(`session:${id}`).ledger.sessions.get(id)
}
