/** What waits for the person, read once for the whole page and again when something happens. */
import { createContext, useContext, useEffect, useState, type ReactNode } from 'react'
import type { Need } from '../../../src/wire/needs.ts'
import type { Live } from '../live/live.ts'
import { useLiveTopic } from '../live/use-live.ts'
import { useCalm } from '../parts/use-calm.ts'
import { useLoaded } from '../parts/use-loaded.ts'
import { announce, showCount } from './attention.ts'

export type Needs = { needs: readonly Need[] | null; error: unknown; again: () => void }

const NeedsContext = createContext<Needs>({ needs: null, error: null, again: () => undefined })
export const useNeeds = (): Needs => useContext(NeedsContext)

export function NeedsProvider({ children }: { children: ReactNode }) {
  const { topics, client } = useLiveTopic('questions')
  useLiveTopic('flows')
  useLiveTopic('mail')
  const version = useCalm(['questions', 'flows', 'mail'].map((topic) => topics.version(topic)).join(' '))
  const { value, error, again } = useLoaded(`needs ${version}`, (signal) => client.needs({ signal }))
  const [kept, setKept] = useState<readonly Need[] | null>(null)
  useEffect(() => {
    if (value === null) return
    announce(kept, value)
    showCount(value.length)
    setKept(value)
  }, [value])
  return <NeedsContext value={{ needs: value ?? kept, error, again }}>{children}</NeedsContext>
}

export type NeedAct = Need['acts'][number]

/** Does what the person decided. */
export async function performAct(
  client: Live['client'],
  need: Need,
  act: NeedAct,
  reason: string,
): Promise<void> {
  if (act === 'allow') await client.questions.answer(need.id, 'allow')
  else if (act === 'allow_session')
    await client.questions.answer(need.id, { answer: 'allow', scope: 'session' })
  else if (act === 'deny')
    await client.questions.answer(need.id, { answer: 'deny', ...(reason === '' ? {} : { reason }) })
  else if (act === 'release')
    await client.mail.release(need.id, need.version === null ? {} : { ifUpdatedAt: need.version })
  else if (act === 'decline') await client.mail.decline(need.id)
  else if (act === 'accept') await client.mail.accept('ses_user', need.id)
  else if (act === 'seen') await client.seeFlow(need.id)
}
