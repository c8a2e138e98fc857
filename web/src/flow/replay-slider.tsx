/** The slider through the events of a flow, which shows the flow as it was after any of them. */
import { useEffect, useState } from 'react'
import type { StreamedEvent } from '../../../src/wire/log.ts'
import { after } from '../browser-clock.ts'
import { formatDuration } from '../format.ts'
import { describeEvent } from './describe-event.ts'

type Props = {
  events: readonly StreamedEvent[]
  /** The last event that is shown; null follows the newest. */
  index: number | null
  findAgent: (turn: string | null) => string
  named: (agent: string) => string
  onMove: (index: number | null) => void
}

const playMs = 220

export function ReplaySlider({ events, index, findAgent, named, onMove }: Props) {
  const [playing, setPlaying] = useState(false)
  const last = events.length - 1
  const at = index ?? last
  const current = events[at]
  useEffect(() => {
    if (!playing) return
    if (at >= last) {
      setPlaying(false)
      onMove(null)
      return
    }
    return after(playMs, () => onMove(at + 1))
  }, [playing, at, last, onMove])
  if (current === undefined) return null
  const words = describeEvent(current.event, findAgent(current.event.turn), named)
  const move = (next: number): void => onMove(Math.max(0, Math.min(last, next)))
  return (
    <div className="replay" role="group" aria-label="Replay">
      <button type="button" onClick={() => move(at - 1)} disabled={at === 0} aria-label="One event back">
        ‹
      </button>
      <button
        type="button"
        onClick={() => {
          if (!playing && at >= last) move(0)
          setPlaying(!playing)
        }}
      >
        {playing ? 'Pause' : 'Play'}
      </button>
      <button type="button" onClick={() => move(at + 1)} disabled={at >= last} aria-label="One event on">
        ›
      </button>
      <input
        type="range"
        min={0}
        max={last}
        value={at}
        aria-label="Event"
        aria-valuetext={`${at + 1} of ${events.length}: ${words}`}
        onChange={(event) => {
          setPlaying(false)
          move(Number(event.target.value))
        }}
      />
      <button
        type="button"
        className={index === null ? 'primary' : ''}
        aria-pressed={index === null}
        onClick={() => {
          setPlaying(false)
          onMove(null)
        }}
      >
        Live
      </button>
      <p className="replay-words">
        <span className="number">
          {at + 1}/{events.length}
        </span>{' '}
        <span className="number">+{formatDuration(current.at - (events[0]?.at ?? current.at))}</span> {words}
      </p>
    </div>
  )
}
