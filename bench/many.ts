/**
 * Many turns at once: calls with one deadline, ten thousand turns whose models are slow, and one flow with a thousand
 * calls beside others. Each is measured in a process of its own.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { DeadlinesResult, FairResult, FlightResult } from './many-process.ts'
import type { Progress } from './progress.ts'
import { formatNumber, requireAtMost, type Part } from './report.ts'

const file = fileURLToPath(new URL('many-process.ts', import.meta.url))
const fewCalls = 200
const manyCalls = 2000
const inFlight = 10_000
const callsOfOne = 1000
const lateMsMax = 50
const stallMsMax = 50
const delayMsMax = 20
const timersMax = 16
const turnBytesMax = 48 * 1024

async function measure<T>(what: string, count: number): Promise<T> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--no-warnings', file, what, String(count)],
    {
      timeout: 180_000,
    },
  )
  return JSON.parse(stdout) as T
}

export async function many(progress: Progress): Promise<Part> {
  progress.part('many', 4)
  const few = await measure<DeadlinesResult>('deadlines', fewCalls)
  progress.step(`${fewCalls} calls with one deadline`)
  const more = await measure<DeadlinesResult>('deadlines', manyCalls)
  progress.step(`${manyCalls} calls with one deadline`)
  const flight = await measure<FlightResult>('flight', inFlight)
  progress.step(`${inFlight} turns in flight`)
  const fair = await measure<FairResult>('fair', callsOfOne)
  progress.step(`a flow with ${callsOfOne} calls`)
  const deadlineRow = ({ count, spreadMs, recordedP99Ms, toldP99Ms, bareMs }: DeadlinesResult): string[] => [
    `${count} calls`,
    ...[spreadMs, recordedP99Ms, toldP99Ms, bareMs].map(formatNumber),
  ]
  const { starting, waiting, ending } = flight.stallMs
  const kb = (bytes: number): string => formatNumber(bytes / 1024)
  return {
    name: 'many',
    tables: [
      {
        title: 'Calls with one deadline, ms',
        columns: [
          '',
          'deadlines apart',
          'recorded late, p99',
          'caller told late, p99',
          'bare log, as many ends',
        ],
        rows: [few, more].map(deadlineRow),
      },
      {
        title: `${inFlight} turns in flight, whose models are slow`,
        columns: ['', 'figure'],
        rows: [
          ['started in, ms', formatNumber(flight.startMs)],
          ['heap for each, KB', kb(flight.heapBytesEach)],
          ['process for each, KB', kb(flight.rssBytesEach)],
          ['timers', String(flight.timers)],
          ['longest stall while they started, ms', formatNumber(starting)],
          ['longest stall while they waited, ms', formatNumber(waiting)],
          ['longest stall while they ended, ms', formatNumber(ending)],
          ['told after its deadline, p50, ms', formatNumber(flight.lateP50Ms)],
          ['told after its deadline, p99, ms', formatNumber(flight.lateP99Ms)],
        ],
      },
      {
        title: `The first call of a flow, ms until it runs, beside a flow with ${callsOfOne} calls`,
        columns: ['', 'p50', 'longest'],
        rows: [
          ['alone', formatNumber(fair.aloneMs), ''],
          ['beside', formatNumber(fair.besideP50Ms), formatNumber(fair.besideMaxMs)],
        ],
      },
    ],
    notes: ['The ten thousand end over ten seconds, a thousand a second, each at a deadline of its own.'],
    checks: [
      requireAtMost(
        `${fewCalls} calls with one deadline: recorded after it, p99`,
        few.recordedP99Ms,
        lateMsMax,
        ' ms',
      ),
      requireAtMost(
        `${manyCalls} calls with one deadline: all recorded, against the bare log`,
        more.recordedP99Ms / more.bareMs,
        2,
        '×',
      ),
      requireAtMost('many: calls that did not time out', few.failed + more.failed + fair.failed, 0),
      requireAtMost(`${inFlight} turns: told after the deadline, p99`, flight.lateP99Ms, lateMsMax, ' ms'),
      requireAtMost(
        `${inFlight} turns: longest stall`,
        Math.max(starting, waiting, ending),
        stallMsMax,
        ' ms',
      ),
      requireAtMost(`${inFlight} turns: timers of the process`, flight.timers, timersMax),
      requireAtMost(
        `${inFlight} turns: heap for each`,
        flight.heapBytesEach / 1024,
        turnBytesMax / 1024,
        ' KB',
      ),
      requireAtMost(
        `a flow beside one with ${callsOfOne} calls: its first call is later by`,
        fair.besideP50Ms - fair.aloneMs,
        delayMsMax,
        ' ms',
      ),
      requireAtMost(
        `a flow beside one with ${callsOfOne} calls: the longest`,
        fair.besideMaxMs - fair.aloneMs,
        delayMsMax,
        ' ms',
      ),
    ],
  }
}
