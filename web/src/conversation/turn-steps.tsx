/** The steps of a turn, folded to one line each: interim texts, tools with input and output, and calls. */
import { memo } from 'react'
import { formatAmount, formatDuration, takeFirstLine } from '../format.ts'
import { linkToFlow } from '../address.ts'
import { useNow } from '../browser-clock.ts'
import { nameAgent } from '../live/ledger.ts'
import { useLive } from '../live/use-live.ts'
import type { DetailItem } from '../live/turn-details.ts'
import { OutcomeBadge } from '../parts/badges.tsx'
import { CodeBlock } from '../parts/code-block.tsx'
import { summarizeJson, formatJson } from '../parts/format-json.ts'
import { Markdown } from '../parts/markdown.tsx'
import { Name, SessionLink } from '../parts/names.tsx'

/** The last text of a turn is its answer, which is shown separately. */
export const TurnSteps = memo(function TurnSteps({
  items,
  answer,
  count: _count,
}: {
  items: readonly DetailItem[]
  answer: string | null
  /** Changes when the items change, which forces a redraw. */
  count: string
}) {
  return (
    <div className="steps">
      {items
        .filter(
          (item, index) => !(item.kind === 'said' && index === items.length - 1 && item.text === answer),
        )
        .map((item) => (
          <Step key={`${item.kind}-${item.key}`} item={item} />
        ))}
    </div>
  )
})

function Step({ item }: { item: DetailItem }) {
  if (item.kind === 'said')
    return (
      <div className="said">
        <Markdown text={item.text} />
      </div>
    )
  if (item.kind === 'question')
    return (
      <p className="step-note">
        Asked a person before using <code>{item.tool}</code>:{' '}
        {item.answer === null ? (
          <a href="#/inbox/questions">waiting for an answer</a>
        ) : (
          `${item.answer === 'allow' ? 'allowed' : 'denied'} (${item.by})`
        )}
      </p>
    )
  if (item.kind === 'steered')
    return (
      <p className="step-note">
        Steered: “<bdi>{item.text}</bdi>”
      </p>
    )
  if (item.kind === 'tool') return <ToolStep item={item} />
  return <CallStep item={item} />
}

function ToolStep({ item }: { item: Extract<DetailItem, { kind: 'tool' }> }) {
  return (
    <details className="step">
      <summary>
        <span className="step-name">{item.name}</span>{' '}
        <span className="step-line">{summarizeJson(item.input)}</span>{' '}
        <span className={`badge tone-${item.ok === null ? 'live' : item.ok ? 'good' : 'bad'}`}>
          {item.ok === null ? 'running' : item.ok ? 'ok' : 'failed'}
        </span>
        {item.endedAt !== null && (
          <span className="number">{formatDuration(item.endedAt - item.startedAt)}</span>
        )}
      </summary>
      <CodeBlock label="Input" text={formatJson(item.input)} />
      {item.endedAt !== null && <CodeBlock label="Output" text={formatJson(item.output)} />}
    </details>
  )
}

const Elapsed = ({ from }: { from: number }) => <>{formatDuration(Math.max(0, useNow() - from))}</>

function CallStep({ item }: { item: Extract<DetailItem, { kind: 'call' | 'refused' }> }) {
  const { ledger } = useLive()
  const flow = ledger.calls.get(item.call)?.flow ?? null
  const isCall = item.kind === 'call'
  return (
    <details className="step step-call">
      <summary>
        <span className="step-name">{item.tool}</span> <Name>{nameAgent(ledger, item.agent)}</Name>{' '}
        <span className="step-line">{takeFirstLine(item.task, 100)}</span>{' '}
        <OutcomeBadge outcome={isCall ? item.outcome : 'refused'} />
        {isCall && (
          <span className="number">
            {item.endedAt === null ? <Elapsed from={item.at} /> : formatDuration(item.endedAt - item.at)}
          </span>
        )}
      </summary>
      <CodeBlock label="Task" text={item.task} />
      {isCall ? (
        <>
          {item.errors.length > 0 && <CodeBlock label="Errors" text={item.errors.join('\n')} />}
          {item.output !== '' && (
            <CodeBlock label={`Output, ${formatAmount(item.tokensUsed)} tokens`} text={item.output} />
          )}
          <p className="hint">
            {flow !== null && <a href={linkToFlow(flow, { call: item.call })}>See it in the flow</a>} ·{' '}
            <SessionLink id={item.target} />
          </p>
        </>
      ) : (
        <CodeBlock label="Refused" text={formatJson(item.refusal)} />
      )}
    </details>
  )
}
