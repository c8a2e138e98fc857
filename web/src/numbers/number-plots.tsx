/** One plot for each question that the numbers answer. */
import type { Outcome } from '../../../src/model/event.ts'
import type { Numbers, TokenAmounts } from '../../../src/wire/server.ts'
import { formatAmount, formatCost, formatDateTime, formatDuration, formatTime, pluralize } from '../format.ts'
import { describeOutcome, pickTone } from '../parts/badges.tsx'
import type { ContextPoint } from './context-points.ts'
import { Bars, Columns, Plot, Points, Ranges } from './plots.tsx'

export const countOutcomes = (outcomes: Numbers['agents'][number]['outcomes']): number =>
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

export function Outcomes({ agents }: Pick<Numbers, 'agents'>) {
  const rows = agents
    .map(({ name, outcomes }) => ({ name, outcomes, all: countOutcomes(outcomes) }))
    .filter(({ all }) => all > 0)
    .sort((a, b) => b.all - a.all)
  const kinds = outcomeOrder.filter((outcome) => rows.some(({ outcomes }) => outcomes[outcome] !== undefined))
  return (
    <Plot
      title="Calls by agent and outcome"
      head={['Agent', ...kinds.map(describeOutcome), 'All']}
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
                    tone: kind === 'refused' ? 'refused' : pickTone(kind),
                    title: `${outcomes[kind]} ${describeOutcome(kind)}`,
                  },
                ],
          ),
        }))}
      />
      <p className="legend">
        {kinds.map((kind) => (
          <span key={kind}>
            <i className={`fill-${kind === 'refused' ? 'refused' : pickTone(kind)}`} />
            {describeOutcome(kind)}
          </span>
        ))}
      </p>
    </Plot>
  )
}

export const Tokens = ({
  title,
  by,
}: {
  title: string
  by: readonly ({ name: string } & TokenAmounts)[]
}) => (
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
        note: formatAmount(input + output),
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

type Sums = readonly ({ name: string } & TokenAmounts)[]

/** Bars are drawn in whole units. */
const microPerUsd = 1_000_000

/** Dollars, and what is not in them: what has no price is unpriced, and never 0. */
export const Costs = ({ title, by }: { title: string; by: Sums }) => (
  <Plot
    title={title}
    head={['Name', 'Cost', 'Of it on a plan', 'Unpriced tokens']}
    rows={by.map(({ name, cost }) => [
      name,
      formatCost(cost.usd),
      cost.planUsd === 0 ? '–' : formatCost(cost.planUsd),
      cost.unpricedTokens,
    ])}
  >
    <Bars
      rows={by.slice(0, 12).map(({ name, cost }) => ({
        name,
        note: formatCost(cost.usd),
        parts: [
          {
            size: ((cost.usd ?? 0) - cost.planUsd) * microPerUsd,
            tone: 'live',
            title: `${formatCost(cost.usd)} in all`,
          },
          { size: cost.planUsd * microPerUsd, tone: 'rest', title: `${formatCost(cost.planUsd)} on a plan` },
        ],
      }))}
    />
    <p className="legend">
      <span>
        <i className="fill-live" />
        paid by key
      </span>
      <span>
        <i className="fill-rest" />
        would have cost: on a plan
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

export function Latencies({ numbers: { agents } }: { numbers: Numbers }) {
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
        formatDuration(medianMs),
        formatDuration(p95Ms),
        formatDuration(maxMs),
      ])}
    >
      <Ranges
        ticks={ticks}
        rows={rows.slice(0, 12).map(({ name, medianMs, p95Ms, maxMs }) => ({
          name,
          from: medianMs,
          to: p95Ms,
          max: maxMs,
          note: formatDuration(medianMs),
        }))}
      />
    </Plot>
  )
}

export function Context({ context, points }: Pick<Numbers, 'context'> & { points: readonly ContextPoint[] }) {
  const note =
    context.history === 0
      ? 'One point for each call: what it was given, against all that its caller had said and heard before.'
      : [
          `${formatAmount(context.passed)} tokens were passed;`,
          `the callers' whole conversations would have been ${formatAmount(context.history)}.`,
          'The points are the newest calls.',
        ].join(' ')
  return (
    <Plot
      title="Context passed against full history"
      note={note}
      head={['Callee', 'Passed', 'Full history']}
      rows={points.slice(-100).map(({ agent, passed, history }) => [agent, passed, history])}
    >
      <Points
        words={{ x: 'full history', y: 'passed' }}
        points={points.map(({ agent, passed, history }) => ({
          x: history,
          y: passed,
          title: `${agent}: ${passed} of ${history}`,
        }))}
      />
    </Plot>
  )
}

const dayMs = 86_400_000

export function OverTime({ numbers: { columns } }: { numbers: Numbers }) {
  const first = columns[0]
  const last = columns.at(-1)
  if (first === undefined || last === undefined) return null
  const word = last.from + last.widthMs - first.from > dayMs ? formatDateTime : formatTime
  const busy = columns.filter(({ calls, refused, tokens }) => calls + refused + tokens > 0)
  return (
    <Plot
      title="Calls over time"
      note={`Each column is ${formatDuration(first.widthMs)}.`}
      head={['From', 'Calls', 'Refused', 'Tokens']}
      rows={busy.map(({ from, calls, refused, tokens }) => [formatDateTime(from), calls, refused, tokens])}
    >
      <Columns
        word={{ first: word(first.from), last: word(last.from + last.widthMs) }}
        columns={columns.map(({ from, calls, refused, tokens }) => ({
          title: `${word(from)}: ${pluralize(calls, 'call')}, ${refused} refused, ${tokens} tokens`,
          parts: [
            { size: calls, tone: 'live' },
            { size: refused, tone: 'refused' },
          ],
        }))}
      />
    </Plot>
  )
}
