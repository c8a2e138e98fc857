/** Programs that a person has open: what each does, and whether mail can start it. */
import { useEffect } from 'react'
import type { ClientState } from '../../../src/model/presence.ts'
import { after } from '../browser-clock.ts'
import type { SessionFact } from '../live/ledger.ts'
import type { Live } from '../live/live.ts'
import { useLive } from '../live/use-live.ts'
import type { Tone } from '../parts/badges.tsx'

export const presenceWords: Record<ClientState, { word: string; tone: Tone }> = {
  working: { word: 'working', tone: 'live' },
  idle: { word: 'idle', tone: 'rest' },
  away: { word: 'away', tone: 'warn' },
  closed: { word: 'closed', tone: 'rest' },
}

/** Beside the state of a session. */
export const ReachNote = ({ session: { presence, wakeable, quietUntil }, at }: ReachProps) =>
  presence === null ? null : (
    <>
      {wakeable && (
        <span className="badge tone-good" title="Mail can start it while it rests">
          can be woken
        </span>
      )}
      {quietUntil !== null && quietUntil > at && (
        <span className="badge tone-warn" title="It is not told of mail">
          quiet
        </span>
      )}
    </>
  )
type ReachProps = { session: SessionFact; at: number }

const lookAgainMs = 3000

/** What a program does is in no event, so it is asked for while one is open. */
export function useFreshPresence(): void {
  const live = useLive()
  useEffect(() => {
    const over = new AbortController()
    let callOff = (): void => undefined
    const look = (): void => {
      if (document.visibilityState === 'visible' && hasOpen(live))
        // A server that is away is noticed elsewhere.
        live.refreshPresence(over.signal).catch(() => undefined)
      callOff = after(lookAgainMs, look)
    }
    look()
    return () => {
      over.abort()
      callOff()
    }
  }, [live])
}

function hasOpen({ ledger }: Live): boolean {
  for (const { presence } of ledger.sessions.values())
    if (presence !== null && presence !== 'closed') return true
  return false
}
