/** Keeps one session, or all of them, from being told of mail for a while. */
import { useState } from 'react'
import { useNow } from '../browser-clock.ts'
import { formatDuration } from '../format.ts'
import { useLiveTopic } from '../live/use-live.ts'
import { Problem } from '../parts/states.tsx'

const minuteMs = 60_000
const spans = [30 * minuteMs, 120 * minuteMs, 480 * minuteMs]

/** Without a session it is about all of them. */
export function QuietSwitch({ session, until }: { session?: string; until: number | null }) {
  const live = useLiveTopic('quiet')
  const [problem, setProblem] = useState<unknown>(null)
  const left = (until ?? 0) - useNow()
  const whose = session === undefined ? 'all sessions' : 'this session'
  const set = (ms: number): void => {
    live.client.quiet.set({ ms, ...(session === undefined ? {} : { session }) }).then(
      () => setProblem(null),
      (error: unknown) => setProblem(error),
    )
  }
  return (
    <>
      <select
        className={left > 0 ? 'quiet-now' : ''}
        aria-label={`News of mail for ${whose}`}
        title={`While it is quiet, mail for ${whose} waits, and starts nothing.`}
        value=""
        onChange={(event) => set(Number(event.target.value))}
      >
        <option value="" disabled>
          {left > 0 ? `Quiet for ${formatDuration(left - (left % minuteMs) + minuteMs)}` : 'Tells of mail'}
        </option>
        {left > 0 && <option value="0">Tell of mail again</option>}
        {spans.map((ms) => (
          <option key={ms} value={ms}>
            Quiet for {ms < 60 * minuteMs ? `${ms / minuteMs} min` : `${ms / 60 / minuteMs} h`}
          </option>
        ))}
      </select>
      {problem !== null && <Problem what="It was not changed." error={problem} />}
    </>
  )
}
