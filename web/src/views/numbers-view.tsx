/** Totals and plots over the whole log or a recent part of it. */
import { useEffect, useMemo, useState } from 'react'
import type { Numbers } from '../../../src/wire/server.ts'
import { changeQuery } from '../address.ts'
import { formatAmount, formatCost, formatDateTime } from '../format.ts'
import { useNow } from '../browser-clock.ts'
import { nameAgent } from '../live/ledger.ts'
import { useLiveTopic } from '../live/use-live.ts'
import { AgentLimits } from '../numbers/agent-limits.tsx'
import { collectContextPoints, type ContextPoint } from '../numbers/context-points.ts'
import {
  Context,
  Costs,
  countOutcomes,
  Latencies,
  Outcomes,
  OverTime,
  Tokens,
} from '../numbers/number-plots.tsx'
import { Empty, Loading, Problem } from '../parts/states.tsx'
import { Tabs } from '../parts/tabs.tsx'
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
  const live = useLiveTopic('connection')
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
      agents: read.agents.map((agent) => ({ ...agent, name: nameAgent(live.ledger, agent.name) })),
    }
  })
  // Read again every two seconds if something happened or the server is still counting. A recent range also
  // changes as time passes.
  useEffect(() => {
    const isOld =
      live.lastSeq() !== round.seq ||
      numbers?.complete === false ||
      (range.ms !== Infinity && tick - round.tick > staleTicks)
    if (isOld) setRound({ tick, seq: live.lastSeq() })
  }, [tick])
  const isRead = live.loaded().log
  const points = useMemo(() => collectContextPoints(live.ledger, from), [live, round, range, isRead])
  return (
    <section className="page" aria-label="Numbers">
      <div className="page-head">
        <h1>Numbers</h1>
        <Tabs
          label="Time"
          tabs={ranges}
          pressed={range.name}
          onPress={(name) => changeQuery({ range: name === 'all' ? null : name })}
        />
      </div>
      {error !== null && <Problem what="The numbers could not be read." error={error} retry={again} />}
      {numbers?.complete === false && (
        <p className="hint" role="status">
          Still counting: {calculatePercent(numbers)} % of the log so far.
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
          {formatDateTime(numbers.from)}. <a href="/metrics">/metrics</a> has counters since the server
          started. Prices are those of {numbers.prices.table} of {numbers.prices.date}, unless the
          configuration has others or an agent says what it costs.
        </p>
      )}
    </section>
  )
}

const calculatePercent = ({ upTo, end }: Numbers): number =>
  Math.floor((Number(upTo) / Math.max(1, Number(end))) * 100)

/** What the number beside it leaves out, and what of it nobody was billed for. */
function nameCost({ usd, planUsd, unpricedTokens }: Numbers['tokens']['cost']): string {
  if (usd === null) return 'Cost'
  const plan = planUsd === 0 ? '' : planUsd === usd ? ', on a plan' : ', part on a plan'
  return `Cost${plan}${unpricedTokens > 0 ? ', part unpriced' : ''}`
}

function AllNumbers({ numbers, points }: { numbers: Numbers; points: readonly ContextPoint[] }) {
  const { tokens, context, agents } = numbers
  const done = agents.reduce((sum, { outcomes }) => sum + (outcomes.completed ?? 0), 0)
  const ended = agents.reduce((sum, { outcomes }) => sum + countOutcomes(outcomes), 0)
  const byAgent = agents
    .map(({ name, tokens: used }) => ({ name, ...used }))
    .filter(({ input, output }) => input + output > 0)
  const facts: [name: string, value: string][] = [
    ['Requests', formatAmount(numbers.requests)],
    ['Turns', formatAmount(numbers.turns)],
    ['Calls', formatAmount(numbers.calls)],
    ['Completed', ended === 0 ? '–' : `${Math.round((done / ended) * 100)} %`],
    [`Tokens${tokens.estimated ? ', part estimated' : ''}`, formatAmount(tokens.input + tokens.output)],
    [nameCost(tokens.cost), formatCost(tokens.cost.usd)],
    ['Context per call', context.calls === 0 ? '–' : formatAmount(context.passed / context.calls)],
  ]
  return (
    <>
      <dl className="big-numbers">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <div className="plots">
        <Outcomes agents={agents} />
        <Tokens title="Tokens by agent" by={byAgent} />
        <Costs title="Cost by agent" by={byAgent} />
        <Tokens title="Tokens by model" by={numbers.models} />
        <Costs title="Cost by model" by={numbers.models} />
        <Costs title="Cost by project" by={numbers.projects} />
        <Costs title="Cost by day (UTC)" by={numbers.days} />
        <AgentLimits version={numbers.end} />
        <Latencies numbers={numbers} />
        <Context context={context} points={points} />
        <OverTime numbers={numbers} />
      </div>
    </>
  )
}
