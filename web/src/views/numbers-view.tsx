/** What it all adds up to: calls and how they ended, tokens by agent and model, context passed against all there was, how long calls take. */
import { useMemo } from 'react'
import { changeQuery, toFlow } from '../address.ts'
import { amount, clockTime, duration, plural, wholeTime } from '../amounts.ts'
import { useNow } from '../browser-clock.ts'
import { eventsReadMax } from '../live/live.ts'
import { useLook } from '../live/use-live.ts'
import { countNumbers, type Amounts, type Numbers } from '../numbers/count-numbers.ts'
import { Bars, Columns, Plot, Points, Ranges } from '../numbers/plots.tsx'
import { outcomeText, outcomeTone } from '../parts/badges.tsx'
import { Empty, Loading } from '../parts/states.tsx'
import type { Outcome } from '../../../src/model/event.ts'

const ranges = [{ name: '15m', word: '15 minutes', ms: 900_000 }, { name: '1h', word: 'hour', ms: 3_600_000 }, { name: '24h', word: '24 hours', ms: 86_400_000 }, { name: 'all', word: 'all that was read', ms: Infinity }] as const
const countEveryMs = 2000

export function NumbersView({ query }: { query: URLSearchParams }) {
  const live = useLook('flows')
  useLook('calls')
  const now = Math.floor(useNow() / countEveryMs) * countEveryMs
  const range = ranges.find(({ name }) => name === query.get('range')) ?? ranges[3]
  const isRead = live.loaded().log
  // Counted every other second, however much happens.
  const numbers = useMemo(() => countNumbers(live.ledger, range.ms === Infinity ? 0 : now - range.ms, now), [live, range, now, isRead])
  return (
    <section className="page" aria-label="Numbers">
      <div className="page-head"><h1>Numbers</h1>
        <div className="tabs" role="group" aria-label="Time">{ranges.map(({ name, word }) => <button key={name} type="button" aria-pressed={range.name === name} onClick={() => changeQuery({ range: name === 'all' ? null : name })}>{word}</button>)}</div>
      </div>
      {!isRead ? <Loading what="the log" /> : numbers.turns === 0 ? <Empty title="Nothing happened in this time."><p><a href="#/start">Run the demo</a>, or look further back.</p></Empty> : <AllNumbers numbers={numbers} />}
      {live.readFrom() > 0 && <p className="hint">Counted over the newest {eventsReadMax.toLocaleString()} events and all that came since. <a href="/metrics">/metrics</a> has counters since the server started.</p>}
    </section>
  )
}

function AllNumbers({ numbers }: { numbers: Numbers }) {
  const { tokens, context } = numbers
  const total = tokens.input + tokens.output
  const done = [...numbers.outcomes.values()].reduce((sum, one) => sum + (one.get('completed') ?? 0), 0)
  const ended = [...numbers.outcomes.values()].reduce((sum, one) => sum + [...one.values()].reduce((count, n) => count + n, 0), 0)
  return (
    <>
      <dl className="big-numbers">
        <div><dt>Requests</dt><dd>{amount(numbers.requests)}</dd></div><div><dt>Turns</dt><dd>{amount(numbers.turns)}</dd></div><div><dt>Calls</dt><dd>{amount(numbers.calls)}</dd></div>
        <div><dt>Completed</dt><dd>{ended === 0 ? '–' : `${Math.round((done / ended) * 100)} %`}</dd></div><div><dt>Tokens{tokens.estimated ? ', part estimated' : ''}</dt><dd>{amount(total)}</dd></div>
        <div><dt>Context per call</dt><dd>{context.points.length === 0 ? '–' : amount(context.passed / context.points.length)}</dd></div>
      </dl>
      <div className="plots">
        <Outcomes outcomes={numbers.outcomes} />
        <Tokens title="Tokens by agent" by={numbers.byAgent} /><Tokens title="Tokens by model" by={numbers.byModel} />
        <Latencies numbers={numbers} /><Context numbers={numbers} /><OverTime numbers={numbers} />
      </div>
    </>
  )
}

const outcomeOrder: readonly Outcome[] = ['completed', 'cancelled', 'timed_out', 'budget_exhausted', 'failed', 'lost', 'refused']

function Outcomes({ outcomes }: Pick<Numbers, 'outcomes'>) {
  const rows = [...outcomes].map(([name, counts]) => ({ name, counts, all: [...counts.values()].reduce((sum, one) => sum + one, 0) })).sort((a, b) => b.all - a.all)
  const kinds = outcomeOrder.filter((outcome) => rows.some(({ counts }) => counts.has(outcome)))
  return (
    <Plot title="Calls by agent and outcome" head={['Agent', ...kinds.map(outcomeText), 'All']} rows={rows.map(({ name, counts, all }) => [name, ...kinds.map((kind) => counts.get(kind) ?? 0), all])}>
      <Bars rows={rows.slice(0, 12).map(({ name, counts, all }) => ({ name, note: String(all), parts: kinds.flatMap((kind) => (counts.has(kind) ? [{ size: counts.get(kind) ?? 0, tone: kind === 'refused' ? 'refused' : outcomeTone(kind), title: `${counts.get(kind) ?? 0} ${outcomeText(kind)}` }] : [])) }))} />
      <p className="legend">{kinds.map((kind) => <span key={kind}><i className={`fill-${kind === 'refused' ? 'refused' : outcomeTone(kind)}`} />{outcomeText(kind)}</span>)}</p>
    </Plot>
  )
}

const Tokens = ({ title, by }: { title: string; by: Map<string, Amounts> }) => (
  <Plot title={title} head={['Name', 'Read', 'Written', 'Counted by']} rows={[...by].map(([name, { input, output, estimated }]) => [name, input, output, estimated ? 'tokenizer' : 'provider'])}>
    <Bars rows={[...by].slice(0, 12).map(([name, { input, output }]) => ({ name, note: amount(input + output), parts: [{ size: input, tone: 'rest', title: `${input} read` }, { size: output, tone: 'live', title: `${output} written` }] }))} />
    <p className="legend"><span><i className="fill-rest" />read</span><span><i className="fill-live" />written</span></p>
  </Plot>
)

const ticks = [{ at: 1, word: '1 ms' }, { at: 10, word: '10 ms' }, { at: 100, word: '100 ms' }, { at: 1000, word: '1 s' }, { at: 10_000, word: '10 s' }, { at: 100_000, word: '100 s' }]

const Latencies = ({ numbers: { latencies } }: { numbers: Numbers }) => (
  <Plot title="How long calls take" note="The dot is the median, the bar ends at 95 %, the line is the longest." head={['Agent', 'Calls', 'Median', '95 %', 'Longest']} rows={latencies.map(({ agent, count, median, p95, max }) => [agent, count, duration(median), duration(p95), duration(max)])}>
    <Ranges ticks={ticks} rows={latencies.slice(0, 12).map(({ agent, median, p95, max }) => ({ name: agent, from: median, to: p95, max, note: duration(median) }))} />
  </Plot>
)

function Context({ numbers: { context } }: { numbers: Numbers }) {
  const note = context.history === 0 ? 'One point for each call: what it was given, against all that its caller had said and heard before.' : `${amount(context.passed)} tokens were passed; the callers' whole conversations would have been ${amount(context.history)}.`
  const points = context.points.slice(-1000)
  return (
    <Plot title="Context passed against full history" note={note} head={['Callee', 'Passed', 'Full history']} rows={points.slice(-100).map(({ agent, passed, history }) => [agent, passed, history])}>
      <Points words={{ x: 'full history', y: 'passed' }} points={points.map(({ agent, passed, history, flow, call }) => ({ x: history, y: passed, href: flow === null ? null : toFlow(flow, { call }), title: `${agent}: ${passed} of ${history}` }))} />
    </Plot>
  )
}

function OverTime({ numbers: { buckets } }: { numbers: Numbers }) {
  const first = buckets[0]
  const last = buckets.at(-1)
  if (first === undefined || last === undefined) return null
  const busy = buckets.filter(({ calls, refused, tokens }) => calls + refused + tokens > 0)
  return (
    <Plot title="Calls over time" note={`Each column is ${duration(first.width)}.`} head={['From', 'Calls', 'Refused', 'Tokens']} rows={busy.map(({ from, calls, refused, tokens }) => [wholeTime(from), calls, refused, tokens])}>
      <Columns word={{ first: clockTime(first.from), last: clockTime(last.from + last.width) }} columns={buckets.map(({ from, calls, refused, tokens }) => ({ title: `${clockTime(from)}: ${plural(calls, 'call')}, ${refused} refused, ${tokens} tokens`, parts: [{ size: calls, tone: 'live' }, { size: refused, tone: 'refused' }] }))} />
    </Plot>
  )
}
