/** Badges for states and outcomes, in words as well as in colour. */
import type { Outcome } from '../../../src/model/event.ts'
import { getActivity, type Activity } from '../live/describe-facts.ts'
import type { SessionFact } from '../live/ledger.ts'
import { useLiveTopic } from '../live/use-live.ts'
import { presenceWords } from '../presence/presence.tsx'

const outcomeWords: Record<Outcome, string> = {
  completed: 'completed',
  failed: 'failed',
  timed_out: 'timed out',
  cancelled: 'cancelled',
  budget_exhausted: 'out of budget',
  refused: 'refused',
  lost: 'lost',
}

export const describeOutcome = (outcome: Outcome | null): string =>
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
export const pickTone = (outcome: Outcome | null): Tone => (outcome === null ? 'live' : outcomeTones[outcome])

type OutcomeProps = { outcome: Outcome | null; waiting?: boolean; asking?: boolean }

/** What has not ended waits for its turn, asks a person, or runs. */
export function OutcomeBadge({ outcome, waiting = false, asking = false }: OutcomeProps) {
  if (outcome === null && asking) return <span className="badge tone-warn">asks you</span>
  if (outcome === null && waiting) return <span className="badge tone-rest">queued</span>
  return <span className={`badge tone-${pickTone(outcome)}`}>{describeOutcome(outcome)}</span>
}

const activityWords: Record<Activity, { word: string; tone: Tone }> = {
  idle: { word: 'idle', tone: 'rest' },
  working: { word: 'working', tone: 'live' },
  error: { word: 'failed', tone: 'bad' },
  waiting: { word: 'waiting', tone: 'rest' },
  queued: { word: 'queued', tone: 'rest' },
  asking: { word: 'asks you', tone: 'warn' },
  away: { word: 'program away', tone: 'warn' },
}

export function ActivityBadge({ session }: { session: SessionFact }) {
  const { ledger } = useLiveTopic('questions')
  if (session.archived && session.kind !== 'ephemeral')
    return <span className="badge tone-rest">archived</span>
  const activity = getActivity(ledger, session)
  const { word, tone } =
    session.presence !== null && activity === 'idle'
      ? presenceWords[session.presence]
      : activityWords[activity]
  return <span className={`badge tone-${tone}`}>{word}</span>
}

/** Quiet if nothing has to be done about it. */
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
