/** One turn of a flow, looked at closely: what it was given, what it may do, how it went and what it said. */
import { useState, type ReactNode } from 'react'
import type { Grant } from '../../../src/model/event.ts'
import { amount, bytes, duration, wholeTime } from '../amounts.ts'
import { useLive, useLook } from '../live/use-live.ts'
import { OutcomeBadge } from '../parts/badges.tsx'
import { CodeBlock } from '../parts/code-block.tsx'
import { jsonText } from '../parts/json-text.ts'
import { Markdown } from '../parts/markdown.tsx'
import { AgentPath, Name, SessionLink } from '../parts/names.tsx'
import { Problem } from '../parts/states.tsx'
import { useLoaded } from '../parts/use-loaded.ts'
import { ContextManifest } from './context-manifest.tsx'
import type { Bar } from './fold-flow.ts'

type Props = { bar: Bar; at: number; isPast: boolean; onClose: () => void }

export function CallPanel({ bar, at, isPast, onClose }: Props) {
  const call = bar.opened?.type === 'call.opened' ? bar.opened : null
  return (
    <aside className="panel" aria-label={`Details of ${bar.agent}`}>
      <header className="panel-head">
        <h2>
          <Name>{bar.agent}</Name> <OutcomeBadge outcome={bar.outcome} />
        </h2>
        <button type="button" className="quiet" onClick={onClose}>
          Close
        </button>
      </header>
      <Facts bar={bar} at={at} />
      {bar.endedAt === null && !isPast && <CancelButton session={bar.session} />}
      <Part title={bar.tool === '' ? 'Request' : 'Task'}>
        <Markdown text={bar.text} />
      </Part>
      {call !== null && call.input !== null && (
        <Part title="Input">
          <CodeBlock text={jsonText(call.input)} label="Input" />
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
          <CodeBlock text={jsonText(call.requested)} label="Arguments" />
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

function Facts({ bar, at }: { bar: Bar; at: number }) {
  const left = bar.deadline === null ? null : bar.deadline - at
  const max = bar.opened?.grant.tokensMax ?? null
  const facts: [string, ReactNode][] = [
    [
      'Session',
      bar.refused === null ? (
        <SessionLink id={bar.session} withAgent={false} />
      ) : (
        <>
          of the caller: <SessionLink id={bar.session} />
        </>
      ),
    ],
    ...(bar.tool === '' ? [] : [['By', bar.tool] as [string, ReactNode]]),
    ...(bar.call === null ? [] : [['Call', <span className="id">{bar.call}</span>] as [string, ReactNode]]),
    ['Opened', wholeTime(bar.openedAt)],
    ...(bar.startedAt !== null && bar.startedAt - bar.openedAt > 50
      ? [['Waited', duration(bar.startedAt - bar.openedAt)] as [string, ReactNode]]
      : []),
    ...(bar.refused === null
      ? [['Took', duration((bar.endedAt ?? at) - bar.openedAt)] as [string, ReactNode]]
      : []),
    ...(left === null
      ? []
      : [
          [
            'Deadline',
            bar.endedAt === null
              ? `in ${duration(Math.max(0, left))}`
              : `${duration((bar.deadline ?? 0) - bar.openedAt)} after it was opened`,
          ] as [string, ReactNode],
        ]),
    [
      'Tokens',
      <>
        {bar.tokens}
        {bar.ended !== null &&
          bar.ended.tokensUsed > bar.tokens &&
          `, ${bar.ended.tokensUsed} with all below`}
        {max !== null && ` of ${amount(max)}`}
      </>,
    ],
  ]
  return (
    <dl className="facts-list">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
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
      {bar.ended?.truncated === true && <p className="hint">Cut: it was {bytes(bar.ended.outputBytes)}.</p>}
    </>
  )
}

/** While it runs: what it has said so far, and its words as they come. */
function Partial({ bar, isPast }: { bar: Bar; isPast: boolean }) {
  const live = useLook(`said:${bar.id}`)
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

const AuthorityFacts = ({ grant }: { grant: Grant }) => (
  <dl className="facts-list">
    <div>
      <dt>Path</dt>
      <dd>
        <AgentPath agents={grant.path.map((hop) => hop.agent)} />
      </dd>
    </div>
    <div>
      <dt>Depth</dt>
      <dd>{grant.depth}</dd>
    </div>
    <div>
      <dt>Tools</dt>
      <dd>
        {grant.authority.tools === null
          ? 'no ceiling: all that the agent has'
          : grant.authority.tools.length === 0
            ? 'none'
            : `at most ${grant.authority.tools.join(', ')}`}
      </dd>
    </div>
    <div>
      <dt>May call on</dt>
      <dd>{grant.authority.nested ? 'yes' : 'no'}</dd>
    </div>
    <div>
      <dt>Budget</dt>
      <dd>{grant.tokensMax === null ? 'none' : `${grant.tokensMax} tokens`}</dd>
    </div>
    <div>
      <dt>Iterations</dt>
      <dd>at most {grant.maxIterations}</dd>
    </div>
  </dl>
)

/** The words of a refusal are the server's. */
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

function CancelButton({ session }: { session: string }) {
  const live = useLive()
  const [problem, setProblem] = useState<unknown>(null)
  return (
    <>
      <button
        type="button"
        className="danger"
        onClick={() => void live.client.sessions.cancel(session).then(() => setProblem(null), setProblem)}
      >
        Cancel it and all below
      </button>
      {problem !== null && <Problem what="It was not cancelled." error={problem} />}
    </>
  )
}
