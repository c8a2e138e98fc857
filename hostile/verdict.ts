/** What a run has shown: one line for each promise, kept or not. */
import { longestBeyond, type Window } from '../bench/lateness.ts'
import { pause } from './attack.ts'
import { leftovers } from './leftovers.ts'
import { lostOrDoubled, readLog, withoutOneEnd } from './ledger.ts'
import { insist } from './load.ts'
import type { Hostile } from './run.ts'

export type Line = {
  says: string
  kept: boolean
  more: readonly string[]
  /** It depends on what else the machine does. */
  timed?: true
}

export const stallMsMax = 50
const growthMax = 1.3
const growthBytesMax = 80 * 1024 * 1024
const startMsMax = 15_000
const quietMsMax = 90_000
const retriedMax = 300

const shown = (problems: readonly string[]): string[] => [
  ...problems.slice(0, 8),
  ...(problems.length > 8 ? [`… and ${problems.length - 8} more`] : []),
]
const line = (says: string, problems: readonly string[]): Line => ({
  says: `${says}${problems.length === 0 ? '' : `: ${problems.length}`}`,
  kept: problems.length === 0,
  more: shown(problems),
})

/** Everything that was begun has its time to end, as it has on any server. */
async function untilQuiet({ victim }: Hostile): Promise<string[]> {
  for (let waited = 0; waited < quietMsMax; waited += 500) {
    const response = await fetch(`${victim.url}/api/sessions?active=true`, {
      signal: AbortSignal.timeout(20_000),
    }).catch(() => null)
    const active =
      response === null
        ? null
        : ((await response.json()) as { sessions: { id: string; agent: string }[] }).sessions
    if (active?.length === 0) return []
    await pause(500)
  }
  return ['sessions still work though nobody has asked for anything for a while']
}

/** A client that never heard of its answer asks again, much later. */
async function retriedOtherwise({ victim, ledger }: Hostile): Promise<string[]> {
  const problems: string[] = []
  const calls = [...ledger.calls].slice(-retriedMax)
  for (const [key, { body, call, outcome }] of calls) {
    const answer = await insist({ victim, ledger, signal: AbortSignal.timeout(20_000) }, '/api/calls', body, {
      'idempotency-key': key,
    })
    const again =
      answer === null ? 'no answer' : `${String(answer.body['outcome'])} ${String(answer.body['call_id'])}`
    if (again !== `${outcome} ${call}`)
      problems.push(`${key}: ${outcome} ${call} at first, ${again} when asked again`)
  }
  return problems
}

const mega = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MB`
const isFlat = (first: number, last: number): boolean =>
  first > 0 && (last <= first * growthMax || last - first <= growthBytesMax)

/**
 * What is held after a collection says whether anything leaks, however short the run is. What the process
 * takes from the system follows the collector's own mind, and says something only over minutes.
 */
function memory({ victim, calmAt }: Hostile): Line[] {
  const life = victim.lives.findLast(({ rss }) => rss.length > 0)
  const samples = (life?.rss ?? []).filter(({ at }) => at > calmAt).map(({ bytes }) => bytes)
  const third = Math.floor(samples.length / 3)
  const most = (part: readonly number[]): number => Math.max(0, ...part)
  const [first, last] = [most(samples.slice(0, third)), most(samples.slice(-third))]
  const [atFirst = 0, atLast = Infinity] = victim.lives.findLast(({ held }) => held.length > 1)?.held ?? []
  return [
    {
      says: `what is held is flat: ${mega(atFirst)} after the last restart, ${mega(atLast)} at the end`,
      kept: isFlat(atFirst, atLast),
      more: [],
    },
    {
      says:
        `memory is flat: at most ${mega(first)} in the first third of the time after the last restart, ` +
        `${mega(last)} in the last`,
      kept: third > 0 && isFlat(first, last),
      more: [],
      timed: true,
    },
  ]
}

/** Says whether the server worked or had to wait for a core or the disk. */
const howMuchRan = ({ from, to, ranMs }: Window): string =>
  ranMs === undefined ? '' : `; its thread ran ${ranMs.toFixed(0)} of ${(to - from).toFixed(0)} ms`

/** The longest stalls of all, and how long the server had listened by then. */
function findStalls({ victim, control }: Hostile): { beyondMs: number; at: string }[] {
  return victim.lives
    .flatMap(({ windows, readyAt }, life) =>
      windows.map((window) => ({
        beyondMs: longestBeyond([window], control),
        at: `life ${life + 1}, after ${((window.from - readyAt) / 1000).toFixed(1)} s${howMuchRan(window)}`,
      })),
    )
    .toSorted((a, b) => b.beyondMs - a.beyondMs)
    .slice(0, 5)
}

function stalls(hostile: Hostile): Line[] {
  const { alone } = hostile
  const longest = findStalls(hostile)
  const mixed = longest[0]?.beyondMs ?? 0
  const slowest = alone.toSorted((a, b) => b.beyondMs - a.beyondMs)
  const over = slowest.filter(({ beyondMs }) => beyondMs > stallMsMax)
  const worded = slowest
    .slice(0, Math.max(5, Math.min(over.length, 20)))
    .map(({ kind, beyondMs }) => `${beyondMs.toFixed(0).padStart(6)} ms  ${kind}`)
  return [
    {
      says:
        `no input alone stalls the server for more than ${stallMsMax} ms beyond the control process ` +
        `(${alone.length} kinds measured)`,
      kept: alone.length > 0 && over.length === 0,
      more: worded,
      timed: true,
    },
    {
      says: `all at once: the longest stall is ${mixed.toFixed(0)} ms beyond the control process`,
      kept: mixed <= stallMsMax,
      more: longest.map(({ beyondMs, at }) => `${beyondMs.toFixed(0).padStart(6)} ms  ${at}`),
      timed: true,
    },
  ]
}

export async function judge(hostile: Hostile): Promise<Line[]> {
  const { victim, ledger, run, directory, dataDir, alive, tried } = hostile
  // Before it is started for the last time, without attacks.
  victim.noteSilence()
  const measured = [...stalls(hostile), ...memory(hostile)]
  const lines: Line[] = [
    line('the server never ended by itself', victim.crashes),
    {
      says:
        `it came back within ${startMsMax / 1000} s each time ` +
        `(${victim.startMs.length} starts, longest ${Math.max(0, ...victim.startMs).toFixed(0)} ms)`,
      kept: alive && victim.startMs.every((ms) => ms <= startMsMax),
      more: [],
    },
    { says: 'SIGTERM ended it each time', kept: victim.deaf === 0, more: [] },
  ]
  if (alive) {
    // A last life without attacks: what was begun ends, and every answer is still the same.
    await victim.terminate()
    lines.push({ says: 'it starts again after all of that', kept: await victim.start(), more: [] })
    lines.push(line('everything that was begun comes to rest', await untilQuiet(hostile)))
    lines.push(
      line(
        `a retry has the same outcome (${Math.min(ledger.calls.size, retriedMax)} calls)`,
        await retriedOtherwise(hostile),
      ),
    )
  }
  lines.push(...measured)
  await (alive ? victim.terminate() : victim.kill())
  await pause(3000)
  lines.push(line('no process is left behind', leftovers(run, directory)))
  const faults = [...tried]
    .filter(([, counts]) => counts.fault > 0)
    .map(([kind, counts]) => `${kind}: ${counts.fault}`)
  lines.push(
    line('no attack is answered with a 500', faults),
    line('honest clients never get one either', ledger.odd),
  )
  const { events, views } = await readLog(dataDir)
  lines.push(
    line(
      `nothing acknowledged is lost or doubled (${ledger.size} acts, ${ledger.retries} retries)`,
      lostOrDoubled(ledger, events),
    ),
  )
  lines.push(
    line(`every call and every turn has one outcome (${events.length} events)`, withoutOneEnd(events)),
  )
  lines.push({
    says: 'views are what the log says',
    kept: views === null,
    more: views === null ? [] : [views],
  })
  return lines
}
