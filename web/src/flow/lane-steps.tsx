/** A turn of a flow opened in its place: its steps as a list, and what came out of it. */
import { useMemo } from 'react'
import type { StreamedEvent } from '../../../src/wire/log.ts'
import { TurnSteps } from '../conversation/turn-steps.tsx'
import { useLiveTopic } from '../live/use-live.ts'
import { addToDetail, createDetail, findTurns, type TurnDetail } from '../live/turn-details.ts'
import { Markdown } from '../parts/markdown.tsx'
import type { Bar } from './flow-picture.ts'

/** As far as the flow is shown: up to `count` events. */
export function foldDetail(events: readonly StreamedEvent[], count: number, turn: string): TurnDetail {
  const detail = createDetail(turn)
  for (const streamed of events.slice(0, count))
    if (findTurns(streamed.event).includes(turn)) addToDetail(detail, streamed)
  return detail
}

type Props = { bar: Bar; events: readonly StreamedEvent[]; count: number }

export function LaneSteps({ bar, events, count }: Props) {
  const live = useLiveTopic(`said:${bar.id}`)
  const detail = useMemo(() => foldDetail(events, count, bar.id), [events, count, bar.id])
  const output = bar.ended?.output ?? detail.output
  const said = bar.endedAt === null ? live.said.get(bar.id) : undefined
  const errors = bar.ended?.errors ?? (bar.error === null ? [] : [bar.error])
  return (
    <div className="lane-steps" role="group" aria-label={`Steps of ${bar.agent}`}>
      <p className="lane-task">
        <bdi>{bar.text}</bdi>
      </p>
      <TurnSteps items={detail.items} answer={output} count={String(count)} />
      {detail.items.length === 0 && bar.refused === null && bar.endedAt === null && (
        <p className="hint">No step has ended yet.</p>
      )}
      {bar.refused !== null && <p className="error-line">Refused: {bar.refused.refusal.code}</p>}
      {said !== undefined && said.remark !== '' && <p className="hint">{said.remark}</p>}
      {said !== undefined && said.text !== '' && <Markdown text={said.text} />}
      {errors.map((error, index) => (
        <p className="error-line" key={index}>
          {error}
        </p>
      ))}
      {output !== null && output !== '' && <Markdown text={output} />}
    </div>
  )
}
