/** One thing that waits for the person: enough to decide on it without opening anything else. */
import { useState } from 'react'
import type { Need } from '../../../src/wire/needs.ts'
import { linkToFlow } from '../address.ts'
import { useNow } from '../browser-clock.ts'
import { formatAge, formatDuration } from '../format.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { formatJson } from '../parts/format-json.ts'
import { Path, SessionLink } from '../parts/names.tsx'
import { Problem } from '../parts/states.tsx'
import { useLive } from '../live/use-live.ts'
import { performAct, useNeeds, type NeedAct } from './needs.tsx'

const kinds: Readonly<Record<Need['kind'], { word: string; tone: string }>> = {
  question: { word: 'asks you', tone: 'warn' },
  draft: { word: 'draft', tone: 'live' },
  mail: { word: 'mail', tone: 'live' },
  failure: { word: 'failed', tone: 'bad' },
  project: { word: 'trust', tone: 'warn' },
}

const actWords: Readonly<Record<NeedAct, string>> = {
  allow: 'Allow once',
  allow_session: 'Allow for this session',
  deny: 'Deny',
  release: 'Release',
  decline: 'Throw away',
  accept: 'Accept',
  reply: 'Reply',
  seen: 'Seen',
  trust: 'Trust',
}
/** What a page can do: trust is given on the command line, and replies are written in the inbox. */
const buttons: readonly NeedAct[] = ['allow', 'allow_session', 'deny', 'release', 'accept', 'decline', 'seen']

type Props = { need: Need; isPicked?: boolean; onPick?: () => void }

export function NeedCard({ need, isPicked = false, onPick }: Props) {
  const { word, tone } = kinds[need.kind]
  return (
    <article className="card need" tabIndex={-1} data-need={need.id} aria-label={need.title}>
      <p className="card-head">
        {onPick !== undefined && (
          <input type="checkbox" aria-label={`Select: ${need.title}`} checked={isPicked} onChange={onPick} />
        )}
        <span className={`badge tone-${tone}`}>{word}</span>
        <strong>
          <bdi>{need.title}</bdi>
        </strong>
        <When need={need} />
      </p>
      {need.tool !== null && (
        <CodeBlock label={`What ${need.tool} would run`} text={formatJson(need.input)} />
      )}
      {need.text !== '' && <p className="md md-plain need-text">{need.text}</p>}
      <NeedFacts need={need} />
      <NeedActs need={need} />
    </article>
  )
}

function When({ need }: { need: Need }) {
  const now = useNow()
  if (need.kind === 'project') return null
  return (
    <span className="hint">
      {need.deadline === null
        ? formatAge(now - need.at)
        : `denied without an answer in ${formatDuration(Math.max(0, need.deadline - now))}`}
    </span>
  )
}

const Fact = ({ name, text }: { name: string; text: string }) =>
  text.trim() === '' ? null : (
    <div>
      <dt>{name}</dt>
      <dd>
        <bdi>{text}</bdi>
      </dd>
    </div>
  )

const NeedFacts = ({ need }: { need: Need }) => (
  <dl className="facts-list">
    <Fact name="Task" text={need.task} />
    {need.request !== need.task && <Fact name="Request" text={need.request} />}
    <Fact name="Said last" text={need.lastWords} />
    <Fact name="Directory" text={need.cwd} />
    {need.path.length > 0 && (
      <div>
        <dt>For</dt>
        <dd>
          <Path names={need.path} />
        </dd>
      </div>
    )}
    {(need.flow !== null || need.session !== null) && (
      <div>
        <dt>Look at</dt>
        <dd>
          {need.flow !== null && <a href={linkToFlow(need.flow)}>the flow</a>}
          {need.flow !== null && need.session !== null && ' · '}
          {need.session !== null && <SessionLink id={need.session} withAgent={false} />}
        </dd>
      </div>
    )}
  </dl>
)

function NeedActs({ need }: { need: Need }) {
  const live = useLive()
  const { again } = useNeeds()
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<unknown>(null)
  const [reason, setReason] = useState('')
  const act = async (one: NeedAct): Promise<void> => {
    setBusy(true)
    try {
      await performAct(live.client, need, one, reason)
    } catch (error) {
      setProblem(error)
    }
    setBusy(false)
    again()
  }
  return (
    <>
      {problem !== null && <Problem what="It was not done." error={problem} />}
      <form
        className="card-acts"
        onSubmit={(event) => {
          event.preventDefault()
          void act('deny')
        }}
      >
        {buttons
          .filter((one) => need.acts.includes(one))
          .map((one) => (
            <button
              key={one}
              type={one === 'deny' ? 'submit' : 'button'}
              className={one === 'allow' || one === 'release' ? 'primary' : one === 'deny' ? 'danger' : ''}
              disabled={busy}
              data-act={one}
              onClick={one === 'deny' ? undefined : () => void act(one)}
            >
              {actWords[one]}
            </button>
          ))}
        {need.acts.includes('deny') && (
          <input
            className="need-reason"
            aria-label="Why not; the agent reads it"
            placeholder="Why not (the agent reads it)"
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
        )}
      </form>
    </>
  )
}

/** Those that belong to a flow or a session, where the person looks at it. */
export function NeedsHere({ flow, session }: { flow?: string; session?: string }) {
  const { needs } = useNeeds()
  const here = (needs ?? []).filter(
    (need) =>
      need.kind === 'question' && ((flow !== undefined && need.flow === flow) || need.session === session),
  )
  return here.length === 0 ? null : (
    <div className="cards needs-here" role="region" aria-label="Waits for you">
      {here.map((need) => (
        <NeedCard key={need.id} need={need} />
      ))}
    </div>
  )
}
