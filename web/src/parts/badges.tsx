/** Small signs: how something stands, how it ended. Each says it in words as well as in colour. */
import type { Outcome } from '../../../src/model/event.ts'
import { activityOf, type Activity, type SessionFact } from '../live/ledger.ts'
import { useLook } from '../live/use-live.ts'

const outcomeWords: Record<Outcome, string> = {
  completed: 'completed',
  failed: 'failed',
  timed_out: 'timed out',
  cancelled: 'cancelled',
  budget_exhausted: 'out of budget',
  refused: 'refused',
  lost: 'lost',
}

export const outcomeText = (outcome: Outcome | null): string =>
  outcome === null ? 'running' : outcomeWords[outcome]

export type Tone = 'good' | 'bad' | 'warn' | 'live' | 'rest'
const outcomeTones: Record<Outcome, Tone> = {
  completed: 'good',
  failed: 'bad',
  timed_out: 'warn',
  cancelled: 'rest',
  budget_exhausted: 'warn',
  refused: 'bad',
  lost: 'bad',
}
export const outcomeTone = (outcome: Outcome | null): Tone =>
  outcome === null ? 'live' : outcomeTones[outcome]

export const OutcomeBadge = ({
  outcome,
  waiting = false,
}: {
  outcome: Outcome | null
  waiting?: boolean
}) => (
  <span className={`badge tone-${waiting && outcome === null ? 'rest' : outcomeTone(outcome)}`}>
    {waiting && outcome === null ? 'queued' : outcomeText(outcome)}
  </span>
)

const activityWords: Record<Activity, { word: string; tone: Tone }> = {
  idle: { word: 'idle', tone: 'rest' },
  working: { word: 'working', tone: 'live' },
  error: { word: 'error', tone: 'bad' },
  waiting: { word: 'waiting', tone: 'rest' },
  queued: { word: 'queued', tone: 'rest' },
  asking: { word: 'asks you', tone: 'warn' },
}

export function ActivityBadge({ session }: { session: SessionFact }) {
  const { ledger } = useLook('questions')
  if (session.archived && session.kind !== 'ephemeral')
    return <span className="badge tone-rest">archived</span>
  const { word, tone } = activityWords[activityOf(ledger, session)]
  return <span className={`badge tone-${tone}`}>{word}</span>
}

/** Quiet where nobody has to do anything about it. */
export const Count = ({
  count,
  label,
  isQuiet = false,
}: {
  count: number
  label: string
  isQuiet?: boolean
}) =>
  count === 0 ? null : (
    <span className={isQuiet ? 'count quiet-count' : 'count'} title={`${count} ${label}`}>
      {count > 999 ? '999+' : count}
      <span className="unseen"> {label}</span>
    </span>
  )
