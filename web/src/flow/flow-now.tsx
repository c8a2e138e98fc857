/** How a flow stands: what blocks it, what came out of it, and what a cancel would end. */
import { useEffect, useState } from 'react'
import { isFailure } from '../../../src/model/request-name.ts'
import type { Flow } from '../../../src/wire/log.ts'
import { useLiveTopic } from '../live/use-live.ts'
import { useNeeds } from '../needs/needs.tsx'
import { Markdown } from '../parts/markdown.tsx'
import { Problem } from '../parts/states.tsx'
import { useCalm } from '../parts/use-calm.ts'
import { useLoaded } from '../parts/use-loaded.ts'

/** `version` changes with every event. A failure that was looked at is seen. */
export function FlowNow({ id, version }: { id: string; version: number }) {
  const live = useLiveTopic('remarks')
  const calm = useCalm(`${version} ${live.topics.version('remarks')}`)
  const [problem, setProblem] = useState<unknown>(null)
  const [isAsked, setAsked] = useState(false)
  const { value } = useLoaded(`flow now ${id} ${calm}`, (signal) => live.client.flow(id, { signal }))
  const [kept, setKept] = useState<Flow | null>(null)
  const { again } = useNeeds()
  useEffect(() => {
    if (value === null) return
    setKept(value)
    if (isFailure(value.root.outcome) && value.state === 'ended')
      void live.client.seeFlow(id).then(again, () => undefined)
  }, [value])
  const flow = value ?? kept
  if (flow === null) return null
  const { root, state, waitsFor, calls } = flow
  const open = calls.filter(({ outcome }) => outcome === null)
  const cancel = async (): Promise<void> => {
    if (!isAsked) return setAsked(true)
    setAsked(false)
    try {
      await live.client.sessions.cancel(root.session, { turn: root.turn })
    } catch (error) {
      setProblem(error)
    }
  }
  return (
    <div className="flow-now">
      {waitsFor !== '' && <p className="now-line">{waitsFor}</p>}
      {state !== 'ended' && (
        <p>
          <button type="button" className="danger" onClick={() => void cancel()}>
            {isAsked ? 'Yes, cancel' : 'Cancel'}
          </button>{' '}
          {isAsked && (
            <span role="status">
              {open.length === 0
                ? 'Nothing else ends with it.'
                : `This also ends ${open.map(({ target }) => target).join(', ')}.`}
            </span>
          )}
        </p>
      )}
      {problem !== null && <Problem what="It was not cancelled." error={problem} />}
      {root.error !== null && <p className="error-line">{root.error}</p>}
      {root.output !== '' && (
        <details open className="flow-output">
          <summary>Output</summary>
          <Markdown text={root.output} />
        </details>
      )}
    </div>
  )
}
