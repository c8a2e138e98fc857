/**
 * What it all adds up to: calls and how they ended, tokens by agent and model, context passed against all
 * there was, how long calls take.
 */
import { useEffect, useMemo, useState } from 'react'
import type { Numbers, TokenAmounts } from '../../../src/wire/server.ts'
import type { Outcome } from '../../../src/model/event.ts'
import { changeQuery, toFlow } from '../address.ts'
import { amount, clockTime, duration, plural, wholeTime } from '../amounts.ts'
import { useNow } from '../browser-clock.ts'
import { called } from '../live/ledger.ts'
import { useLook } from '../live/use-live.ts'
import { contextPoints, type ContextPoint } from '../numbers/context-points.ts'
import { Bars, Columns, Plot, Points, Ranges } from '../numbers/plots.tsx'
import { outcomeText, outcomeTone } from '../parts/badges.tsx'
import { Empty, Loading, Problem } from '../parts/states.tsx'
import { useLoaded } from '../parts/use-loaded.ts'

const ranges = [
  { name: '15m', word: '15 minutes', ms: 900_000 },
  { name: '1h', word: 'hour', ms: 3_600_000 },
  { name: '24h', word: '24 hours', ms: 86_400_000 },
  { name: 'all', word: 'all', ms: Infinity },
] as const
const askEveryMs = 2000
const staleTicks = 15

export function NumbersView({ query }: { query: URLSearchParams }) {
  const live = useLook('connection')
  const tick = Math.floor(useNow() / askEveryMs)
  const range = ranges.find(({ name }) => name === query.get('range')) ?? ranges[3]
  const from = range.ms === Infinity ? 0 : Math.max(0, tick * askEveryMs - range.ms)
  const [round, setRound] = useState({ tick, seq: live.lastSeq() })
  const {
    value: numbers,
    error,
    again,
  } = useLoaded(`${range.name} ${round.tick}`, async (signal) => {
    const read = await live.client.numbers(from === 0 ? {} : { since: from }, { signal })
    return {
      ...read,
      agents: read.agents.map((agent) => ({ ...agent, name: called(live.ledger, agent.name) })),
    }
  })
  // Asked again every other second where something happened since, or is still being counted; a time that
  // moves on also loses something.
  useEffect(() => {
    const isOld =
      live.lastSeq() !== round.seq ||
      numbers?.complete === false ||
      (range.ms !== Infinity && tick - round.tick > staleTicks)
    if (isOld) setRound({ tick, seq: live.lastSeq() })
  }, [tick])
  const isRead = live.loaded().log
  const points = useMemo(() => contextPoints(live.ledger, from), [live, round, range, isRead])
  return (
    <section className="page" aria-label="Numbers">
      <div className="page-head">
        <h1>Numbers</h1>
        <div className="tabs" role="group" aria-label="Time">
          {ranges.map(({ name, word }) => (
            <button
              key={name}
              type="button"
              aria-pressed={range.name === name}
              onClick={() => changeQuery({ range: name === 'all' ? null : name })}
            >
              {word}
            </button>
          ))}
        </div>
      </div>
      {error !== null && <Problem what="The numbers could not be read." error={error} retry={again} />}
      {numbers?.complete === false && (
        <p className="hint" role="status">
          Still counting: {percentOf(numbers)} % of the log so far.
        </p>
      )}
      {numbers === null ? (
        error === null && <Loading what="the numbers" />
      ) : numbers.turns === 0 && numbers.complete ? (
        <Empty title="Nothing happened in this time.">
          <p>
            <a href="#/start">Run the demo</a>, or look further back.
          </p>
        </Empty>
      ) : (
        <AllNumbers numbers={numbers} points={points} />
      )}
      {numbers !== null && numbers.from !== null && (
        <p className="hint">
          Counted over {range.ms === Infinity ? 'the whole log' : 'that time, by the minute'}, since{' '}
          {wholeTime(numbers.from)}. <a href="/metrics">/metrics</a> has counters since the server started.
        </p>
      )}
    </section>
  )
}

const percentOf = ({ upTo, end }: Numbers): number =>
  Math.floor((Number(upTo) / Math.max(1, Number(end))) * 100)

function AllNumbers({ numbers, points }: { numbers: Numbers; points: readonly ContextPoint[] }) {
  const { tokens, context, agents } = numbers
  const done = agents.reduce((sum, { outcomes }) => sum + (outcomes.completed ?? 0), 0)
  const ended = agents.reduce((sum, { outcomes }) => sum + countOf(outcomes), 0)
  return (
    <>
      <dl className="big-numbers">
        <div>
          <dt>Requests</dt>
          <dd>{amount(numbers.requests)}</dd>
        </div>
        <div>
          <dt>Turns</dt>
          <dd>{amount(numbers.turns)}</dd>
        </div>
        <div>
          <dt>Calls</dt>
          <dd>{amount(numbers.calls)}</dd>
        </div>
        <div>
          <dt>Completed</dt>
          <dd>{ended === 0 ? '–' : `${Math.round((done / ended) * 100)} %`}</dd>
        </div>
        <div>
          <dt>Tokens{tokens.estimated ? ', part estimated' : ''}</dt>
          <dd>{amount(tokens.input + tokens.output)}</dd>
        </div>
        <div>
          <dt>Context per call</dt>
          <dd>{context.calls === 0 ? '–' : amount(context.passed / context.calls)}</dd>
        </div>
      </dl>
      <div className="plots">
        <Outcomes agents={agents} />
        <Tokens
          title="Tokens by agent"
          by={agents
            .map(({ name, tokens: used }) => ({ name, ...used }))
            .filter(({ input, output }) => input + output > 0)}
        />
        <Tokens title="Tokens by model" by={numbers.models} />
        <Latencies numbers={numbers} />
        <Context context={context} points={points} />
        <OverTime numbers={numbers} />
      </div>
    </>
  )
}

const countOf = (outcomes: Numbers['agents'][number]['outcomes']): number =>
  Object.values(outcomes).reduce((sum, one) => sum + one, 0)

const outcomeOrder: readonly Outcome[] = [
  'completed',
  'cancelled',
  'timed_out',
  'budget_exhausted',
  'failed',
  'lost',
  'refused',
]

function Outcomes({ agents }: Pick<Numbers, 'agents'>) {
  const rows = agents
    .map(({ name, outcomes }) => ({ name, outcomes, all: countOf(outcomes) }))
    .filter(({ all }) => all > 0)
    .sort((a, b) => b.all - a.all)
  const kinds = outcomeOrder.filter((outcome) => rows.some(({ outcomes }) => outcomes[outcome] !== undefined))
  return (
    <Plot
      title="Calls by agent and outcome"
      head={['Agent', ...kinds.map(outcomeText), 'All']}
      rows={rows.map(({ name, outcomes, all }) => [name, ...kinds.map((kind) => outcomes[kind] ?? 0), all])}
    >
      <Bars
        rows={rows.slice(0, 12).map(({ name, outcomes, all }) => ({
          name,
          note: String(all),
          parts: kinds.flatMap((kind) =>
            outcomes[kind] === undefined
              ? []
              : [
                  {
                    size: outcomes[kind],
                    tone: kind === 'refused' ? 'refused' : outcomeTone(kind),
                    title: `${outcomes[kind]} ${outcomeText(kind)}`,
                  },
                ],
          ),
        }))}
      />
      <p className="legend">
        {kinds.map((kind) => (
          <span key={kind}>
            <i className={`fill-${kind === 'refused' ? 'refused' : outcomeTone(kind)}`} />
            {outcomeText(kind)}
          </span>
        ))}
      </p>
    </Plot>
  )
}

const Tokens = ({ title, by }: { title: string; by: readonly ({ name: string } & TokenAmounts)[] }) => (
  <Plot
    title={title}
    head={['Name', 'Read', 'Written', 'Counted by']}
    rows={by.map(({ name, input, output, estimated }) => [
      name,
      input,
      output,
      estimated ? 'tokenizer' : 'provider',
    ])}
  >
    <Bars
      rows={by.slice(0, 12).map(({ name, input, output }) => ({
        name,
        note: amount(input + output),
        parts: [
          { size: input, tone: 'rest', title: `${input} read` },
          { size: output, tone: 'live', title: `${output} written` },
        ],
      }))}
    />
    <p className="legend">
      <span>
        <i className="fill-rest" />
        read
      </span>
      <span>
        <i className="fill-live" />
        written
      </span>
    </p>
  </Plot>
)

const ticks = [
  { at: 1, word: '1 ms' },
  { at: 10, word: '10 ms' },
  { at: 100, word: '100 ms' },
  { at: 1000, word: '1 s' },
  { at: 10_000, word: '10 s' },
  { at: 100_000, word: '100 s' },
]

function Latencies({ numbers: { agents } }: { numbers: Numbers }) {
  const rows = agents
    .flatMap(({ name, latency }) => (latency === null ? [] : [{ name, ...latency }]))
    .sort((a, b) => b.p95Ms - a.p95Ms)
  return (
    <Plot
      title="How long calls take"
      note="The dot is the median, the bar ends at 95 %, the line is the longest."
      head={['Agent', 'Calls', 'Median', '95 %', 'Longest']}
      rows={rows.map(({ name, count, medianMs, p95Ms, maxMs }) => [
        name,
        count,
        duration(medianMs),
        duration(p95Ms),
        duration(maxMs),
      ])}
    >
      <Ranges
        ticks={ticks}
        rows={rows.slice(0, 12).map(({ name, medianMs, p95Ms, maxMs }) => ({
          name,
          from: medianMs,
          to: p95Ms,
          max: maxMs,
          note: duration(medianMs),
        }))}
      />
    </Plot>
  )
}

function Context({ context, points }: Pick<Numbers, 'context'> & { points: readonly ContextPoint[] }) {
  const note =
    context.history === 0
      ? 'One point for each call: what it was given, against all that its caller had said and heard before.'
      : `${amount(context.passed)} tokens were passed; the callers' whole conversations would have been ${amount(context.history)}. The points are the newest calls.`
  return (
    <Plot
      title="Context passed against full history"
      note={note}
      head={['Callee', 'Passed', 'Full history']}
      rows={points.slice(-100).map(({ agent, passed, history }) => [agent, passed, history])}
    >
      <Points
        words={{ x: 'full history', y: 'passed' }}
        points={points.map(({ agent, passed, history, flow, call }) => ({
          x: history,
          y: passed,
          href: flow === null ? null : toFlow(flow, { call }),
          title: `${agent}: ${passed} of ${history}`,
        }))}
      />
    </Plot>
  )
}

function OverTime({ numbers: { columns } }: { numbers: Numbers }) {
  const first = columns[0]
  const last = columns.at(-1)
  if (first === undefined || last === undefined) return null
  const word = last.from + last.widthMs - first.from > dayMs ? wholeTime : clockTime
  const busy = columns.filter(({ calls, refused, tokens }) => calls + refused + tokens > 0)
  return (
    <Plot
      title="Calls over time"
      note={`Each column is ${duration(first.widthMs)}.`}
      head={['From', 'Calls', 'Refused', 'Tokens']}
      rows={busy.map(({ from, calls, refused, tokens }) => [wholeTime(from), calls, refused, tokens])}
    >
      <Columns
        word={{ first: word(first.from), last: word(last.from + last.widthMs) }}
        columns={columns.map(({ from, calls, refused, tokens }) => ({
          title: `${word(from)}: ${plural(calls, 'call')}, ${refused} refused, ${tokens} tokens`,
          parts: [
            { size: calls, tone: 'live' },
            { size: refused, tone: 'refused' },
          ],
        }))}
      />
    </Plot>
  )
}

const dayMs = 86_400_000
