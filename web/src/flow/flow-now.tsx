/** How a flow stands: what blocks it, what came out of it, and what a cancel would end. */
import { useEffect, useState } from 'react'
import { isFailure } from '../../../src/model/request-name.ts'
import type { Flow } from '../../../src/wire/log.ts'
import { useLiveTopic } from '../live/use-live.ts'
import { useNeeds } from '../needs/needs.tsx'
import { Markdown } from '../parts/markdown.tsx'
import { useCalm } from '../parts/use-calm.ts'
import { useLoaded } from '../parts/use-loaded.ts'
import { CancelButton } from './call-acts.tsx'

/** `version` changes with every event. A failure that was looked at is seen. */
export function FlowNow({ id, version }: { id: string; version: number }) {
  const live = useLiveTopic('remarks')
  const calm = useCalm(`${version} ${live.topics.version('remarks')}`)
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
  return (
    <div className="flow-now">
      {waitsFor !== '' && <p className="now-line">{waitsFor}</p>}
      {state !== 'ended' && (
        <CancelButton
          session={root.session}
          turn={root.turn}
          below={open.map(({ target, task }) => ({ agent: target, text: task }))}
        />
      )}
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
