/** What a person can do about a turn that runs: say a word to it, or cancel it with everything below. */
import { useState } from 'react'
import { takeFirstLine } from '../format.ts'
import { useLive } from '../live/use-live.ts'
import { Name } from '../parts/names.tsx'
import { Problem } from '../parts/states.tsx'
import type { Bar } from './flow-picture.ts'

/** `below` is what else would end. */
export function CallActs({ bar, below }: { bar: Bar; below: readonly Bar[] }) {
  return (
    <div className="call-acts">
      {bar.call !== null && <SteerForm call={bar.call} agent={bar.agent} />}
      <CancelButton below={below} session={bar.session} turn={bar.id} />
    </div>
  )
}

function SteerForm({ call, agent }: { call: string; agent: string }) {
  const live = useLive()
  const [text, setText] = useState('')
  const [state, setState] = useState<'idle' | 'busy' | 'said'>('idle')
  const [problem, setProblem] = useState<unknown>(null)
  const steer = async (): Promise<void> => {
    setState('busy')
    setProblem(null)
    try {
      await live.client.calls.steer(call, text)
      setText('')
      setState('said')
    } catch (error) {
      setProblem(error)
      setState('idle')
    }
  }
  return (
    <form
      className="steer"
      onSubmit={(event) => {
        event.preventDefault()
        if (text.trim() !== '') void steer()
      }}
    >
      <label>
        <span className="unseen">Say something to {agent} while it works</span>
        <input
          value={text}
          placeholder={`Steer ${agent} while it works`}
          onChange={(event) => {
            setText(event.target.value)
            setState('idle')
          }}
        />
      </label>
      <button type="submit" disabled={state === 'busy' || text.trim() === ''}>
        Steer
      </button>
      {state === 'said' && (
        <span className="hint" role="status">
          It reads this before its next step.
        </span>
      )}
      {problem !== null && <Problem what="It was not said." error={problem} />}
    </form>
  )
}

type CancelProps = { session: string; turn: string; below: readonly { agent: string; text: string }[] }

/** Asks once, and says what would end with it. */
export function CancelButton({ session, turn, below }: CancelProps) {
  const live = useLive()
  const [isAsked, setAsked] = useState(false)
  const [problem, setProblem] = useState<unknown>(null)
  const cancel = (): void => {
    setAsked(false)
    void live.client.sessions.cancel(session, { turn }).then(() => setProblem(null), setProblem)
  }
  if (!isAsked)
    return (
      <>
        <button type="button" className="danger" onClick={() => setAsked(true)}>
          Cancel
        </button>
        {problem !== null && <Problem what="It was not cancelled." error={problem} />}
      </>
    )
  return (
    <div className="cancel-ask" role="group" aria-label="Cancel">
      <p role="status">
        {below.length === 0 ? 'Nothing else ends with it.' : 'This also ends what it waits for:'}
      </p>
      {below.length > 0 && (
        <ul>
          {below.map(({ agent, text }, index) => (
            <li key={index}>
              <Name>{agent}</Name> <bdi>{takeFirstLine(text, 100)}</bdi>
            </li>
          ))}
        </ul>
      )}
      <button type="button" className="danger" onClick={cancel}>
        Yes, cancel
      </button>{' '}
      <button type="button" onClick={() => setAsked(false)}>
        No
      </button>
    </div>
  )
}
