/** One turn of a flow in detail: what it was given, what it may do, how it went and what it said. */
import type { ReactNode } from 'react'
import type { Grant } from '../../../src/model/event.ts'
import { toUsd } from '../../../src/model/money.ts'
import {
  describeCost,
  formatAmount,
  formatBytes,
  formatCost,
  formatDuration,
  formatDateTime,
} from '../format.ts'
import { useLive, useLiveTopic } from '../live/use-live.ts'
import { OutcomeBadge } from '../parts/badges.tsx'
import { CodeBlock } from '../parts/code-block.tsx'
import { formatJson } from '../parts/format-json.ts'
import { Markdown } from '../parts/markdown.tsx'
import { AgentPath, Name, SessionLink } from '../parts/names.tsx'
import { useLoaded } from '../parts/use-loaded.ts'
import { CallActs } from './call-acts.tsx'
import { ContextManifest } from './context-manifest.tsx'
import type { Bar } from './flow-picture.ts'

type Props = { bar: Bar; below: readonly Bar[]; at: number; isPast: boolean; onClose: () => void }

/** On a narrow screen it stands below the timeline, out of sight. */
function reveal(panel: HTMLElement | null): void {
  if (matchMedia('(max-width: 56rem)').matches) panel?.scrollIntoView({ block: 'start' })
}

export function CallPanel({ bar, below, at, isPast, onClose }: Props) {
  const call = bar.opened?.type === 'call.opened' ? bar.opened : null
  return (
    <aside ref={reveal} className="panel" aria-label={`Details of ${bar.agent}`}>
      <header className="panel-head">
        <h2>
          <Name>{bar.agent}</Name> <OutcomeBadge outcome={bar.outcome} />
        </h2>
        <button type="button" className="quiet" onClick={onClose}>
          Close
        </button>
      </header>
      <Facts bar={bar} at={at} />
      {bar.endedAt === null && !isPast && <CallActs bar={bar} below={below} />}
      <Part title={bar.tool === '' ? 'Request' : 'Task'}>
        <Markdown text={bar.text} />
      </Part>
      {call !== null && call.input !== null && (
        <Part title="Input">
          <CodeBlock text={formatJson(call.input)} label="Input" />
        </Part>
      )}
      {bar.refused !== null ? (
        <Refused bar={bar} />
      ) : (
        <Part title="Output">
          <Output bar={bar} isPast={isPast} />
        </Part>
      )}
      {call !== null && (
        <Part title="Context passed">
          <ContextManifest manifest={call.context} />
        </Part>
      )}
      {bar.opened !== null && (
        <Part title="Authority">
          <AuthorityFacts grant={bar.opened.grant} />
        </Part>
      )}
      {call !== null && (
        <details>
          <summary>As it was asked for</summary>
          <CodeBlock text={formatJson(call.requested)} label={`Arguments of ${bar.tool}`} />
        </details>
      )}
    </aside>
  )
}

const Part = ({ title, children }: { title: string; children: ReactNode }) => (
  <section className="panel-part">
    <h3>{title}</h3>
    {children}
  </section>
)

type Fact = readonly [name: string, value: ReactNode]

const FactList = ({ facts }: { facts: readonly (Fact | false)[] }) => (
  <dl className="facts-list">
    {facts
      .filter((fact) => fact !== false)
      .map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
)

const queuedMsMin = 50

function Facts({ bar, at }: { bar: Bar; at: number }) {
  const { openedAt, startedAt, endedAt, deadline, refused } = bar
  const session =
    refused === null ? (
      <SessionLink id={bar.session} withAgent={false} />
    ) : (
      <>
        of the caller: <SessionLink id={bar.session} />
      </>
    )
  return (
    <FactList
      facts={[
        ['Session', session],
        bar.call !== null && ['Call', <span className="id">{bar.call}</span>],
        ['Opened', formatDateTime(openedAt)],
        startedAt !== null &&
          startedAt - openedAt > queuedMsMin && ['Waited', formatDuration(startedAt - openedAt)],
        refused === null && ['Took', formatDuration((endedAt ?? at) - openedAt)],
        deadline !== null && [
          'Deadline',
          endedAt === null
            ? `in ${formatDuration(Math.max(0, deadline - at))}`
            : `${formatDuration(deadline - openedAt)} after it was opened`,
        ],
        ['Tokens', describeTokens(bar)],
        bar.cost.usd !== 0 && ['Cost', describeCost(bar.cost)],
      ]}
    />
  )
}

function describeTokens({ tokens, ended, opened }: Bar): string {
  const below = ended !== null && ended.tokensUsed > tokens ? `, ${ended.tokensUsed} with all below` : ''
  const max = opened?.grant.tokensMax ?? null
  return `${tokens}${below}${max === null ? '' : ` of ${formatAmount(max)}`}`
}

function Output({ bar, isPast }: { bar: Bar; isPast: boolean }) {
  const output = bar.ended?.output ?? bar.turnEnded?.output ?? null
  const errors = bar.ended?.errors ?? (bar.error === null ? [] : [bar.error])
  if (output === null) return <Partial bar={bar} isPast={isPast} />
  return (
    <>
      {errors.map((error, index) => (
        <p className="error-line" key={index}>
          {error}
        </p>
      ))}
      {output === '' ? <p className="hint">Nothing was said.</p> : <Markdown text={output} />}
      {bar.outcome !== 'completed' && output !== '' && (
        <p className="hint">This is what it had said when it ended.</p>
      )}
      {bar.ended?.truncated === true && (
        <p className="hint">Cut: it was {formatBytes(bar.ended.outputBytes)}.</p>
      )}
    </>
  )
}

/** While it runs: what it has said so far, and its words as they come. */
function Partial({ bar, isPast }: { bar: Bar; isPast: boolean }) {
  const live = useLiveTopic(`said:${bar.id}`)
  const streaming = isPast ? undefined : live.said.get(bar.id)
  const text = [
    ...bar.said,
    ...(streaming === undefined ? [] : [`${streaming.gap ? '… ' : ''}${streaming.text}`]),
  ].join('\n\n')
  return text === '' ? (
    <p className="hint">Nothing yet.</p>
  ) : (
    <>
      <p className="hint">So far:</p>
      <Markdown text={text} />
    </>
  )
}

const AuthorityFacts = ({
  grant: { path, depth, authority, tokensMax, nanoUsdMax, maxIterations },
}: {
  grant: Grant
}) => (
  <FactList
    facts={[
      ['Path', <AgentPath agents={path.map((hop) => hop.agent)} />],
      ['Depth', depth],
      ['Tools', describeCeiling(authority.tools)],
      ['May call on', authority.nested ? 'yes' : 'no'],
      ['Budget', describeBudget(tokensMax, nanoUsdMax)],
      ['Iterations', `at most ${maxIterations}`],
    ]}
  />
)

function describeBudget(tokensMax: number | null, nanoUsdMax: number | undefined): string {
  const parts = [
    ...(tokensMax === null ? [] : [`${tokensMax} tokens`]),
    ...(nanoUsdMax === undefined ? [] : [formatCost(toUsd(nanoUsdMax))]),
  ]
  return parts.length === 0 ? 'none' : parts.join(', ')
}

function describeCeiling(tools: Grant['authority']['tools']): string {
  if (tools === null) return 'no ceiling: all that the agent has'
  return tools.length === 0 ? 'none' : `at most ${tools.join(', ')}`
}

/** The explanation of a refusal comes from the server. */
function Refused({ bar }: { bar: Bar }) {
  const live = useLive()
  const { value } = useLoaded(bar.call ?? '', async (signal) =>
    bar.call === null ? null : live.client.calls.get(bar.call, { signal }),
  )
  const refusal = bar.refused?.refusal
  const path = refusal !== undefined && 'path' in refusal && Array.isArray(refusal.path) ? refusal.path : null
  return (
    <Part title="Refused">
      <p>
        <code>{refusal?.code}</code>
      </p>
      {value?.errors.map((error, index) => (
        <p className="error-line" key={index}>
          {error}
        </p>
      ))}
      {path !== null && (
        <p>
          <AgentPath agents={path} />
        </p>
      )}
    </Part>
  )
}
