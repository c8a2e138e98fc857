/** A turn without an entry: it waits, runs, or ended without an answer. Its text streams in. */
import { useEffect, useRef, useState } from 'react'
import { linkToFlow } from '../address.ts'
import { formatDuration } from '../format.ts'
import { after, useNow } from '../browser-clock.ts'
import type { Ledger, TurnFact } from '../live/ledger.ts'
import { useLiveTopic } from '../live/use-live.ts'
import { OutcomeBadge } from '../parts/badges.tsx'
import { Markdown } from '../parts/markdown.tsx'
import { AskedBubble } from './bubble.tsx'
import { TurnSteps } from './turn-steps.tsx'

export function LiveTurn({ turn }: { turn: TurnFact }) {
  const live = useLiveTopic(`session:${turn.session}`)
  const detail = live.details.get(turn.id)
  const sender = turn.from === null ? undefined : live.ledger.sessions.get(turn.from)
  const items = detail?.items ?? []
  // Items change in place, so their states decide when to redraw.
  const count = items
    .map((item) =>
      item.kind === 'tool' || item.kind === 'call'
        ? item.endedAt === null
          ? 'o'
          : 'x'
        : item.kind === 'question'
          ? (item.answer ?? '?')
          : 's',
    )
    .join('')
  return (
    <div className="entry">
      <AskedBubble
        origin={{
          source: turn.source,
          from: turn.from,
          fromAgent: sender?.agentName ?? null,
          applet: turn.applet,
        }}
        text={detail?.asked ?? turn.text}
        at={turn.openedAt}
        note={
          turn.startedAt === null && turn.endedAt === null ? (
            <span className="badge tone-rest">queued</span>
          ) : null
        }
      />
      {(turn.startedAt !== null || turn.endedAt !== null) && (
        <article
          className="answer"
          aria-label={turn.endedAt === null ? 'Answer, still being written' : 'Answer'}
        >
          <header>
            <OutcomeBadge outcome={turn.outcome} />
            {turn.endedAt === null && <Running turn={turn} />}
            {turn.flow !== null && (
              <a
                className="quiet"
                href={linkToFlow(turn.flow, turn.call === null ? {} : { call: turn.call })}
              >
                Flow
              </a>
            )}
          </header>
          <TurnSteps items={items} answer={detail?.output ?? null} count={count} />
          {turn.endedAt === null ? (
            <Streaming turn={turn} />
          ) : (
            <>
              {detail?.output != null && detail.output !== '' && <Markdown text={detail.output} />}
              {turn.error !== null && <p className="error-line">{turn.error}</p>}
            </>
          )}
        </article>
      )}
    </div>
  )
}

function Running({ turn }: { turn: TurnFact }) {
  const at = useNow()
  const left = turn.deadline === null ? null : turn.deadline - at
  return (
    <span className="hint">
      {turn.stopping ? 'stopping' : formatDuration(at - (turn.startedAt ?? turn.openedAt))}
      {left !== null && left < 600_000 && ` · ends in ${formatDuration(Math.max(0, left))}`}
    </span>
  )
}

const drawMs = 120

/** Throttled, so that a long text is not parsed again with every word. */
function Streaming({ turn }: { turn: TurnFact }) {
  const live = useLiveTopic(`said:${turn.id}`)
  const said = live.said.get(turn.id)
  const text = said === undefined ? '' : `${said.gap ? '… ' : ''}${said.text}`
  const shown = useThrottled(text)
  return shown === '' ? (
    <p className="thinking" role="status">
      <i />
      <i />
      <i />
      <span className="hint">
        {said === undefined || said.remark === '' ? describeWork(live.ledger, turn) : startUpper(said.remark)}
      </span>
    </p>
  ) : (
    <div className="streaming">
      <Markdown text={shown} />
    </div>
  )
}

const startUpper = (words: string): string => words.slice(0, 1).toUpperCase() + words.slice(1)

/** What a turn does while it says nothing. */
function describeWork(ledger: Ledger, turn: TurnFact): string {
  const session = ledger.sessions.get(turn.session)
  if (turn.stopping) return 'Stopping'
  if ([...ledger.questions.values()].some((question) => question.turn === turn.id))
    return 'Waits for your answer'
  const names = [...(session?.waitsFor ?? [])].map(
    (id) => ledger.calls.get(id)?.agent ?? ledger.sessions.get(id)?.agent ?? id,
  )
  return names.length === 0 ? 'Working' : `Waits for ${[...new Set(names)].join(', ')}`
}

/**
 * The newest text, updated at most every `drawMs`. A text that does not continue what is shown replaces it at
 * once: what was recorded stands above as a step, and would be there twice.
 */
function useThrottled(text: string): string {
  const [shown, setShown] = useState(text)
  const newest = useRef(text)
  const waits = useRef(false)
  useEffect(() => {
    newest.current = text
    if (waits.current || text === shown) return
    waits.current = true
    after(drawMs, () => {
      waits.current = false
      setShown(newest.current)
    })
  }, [text, shown])
  return text.startsWith(shown) ? shown : text
}
