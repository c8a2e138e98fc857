/**
 * How soon what waits in a queue starts (R12): parallel calls to one agent that keeps its conversation, many
 * roots that call it, and many inputs for a few sessions. On disk, with the real clock.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isRefusal, tieline, type ScriptedTurn, type SessionId, type Tieline } from '../src/index.ts'
import type { Progress } from './progress.ts'
import { formatNumber, requireAtMost, type Part } from './report.ts'

const parallel = 5
const roots = 80
const sessions = 10
const inputs = 100
/** R12: not later than a hint. */
const waitMsMax = 20
const drainMsMax = 4000

/** When turns of the agent really began and ended, in the order in which they began. */
const spans: { beganAt: number; endedAt: number }[] = []

async function answerSoon(): Promise<string> {
  const span = { beganAt: performance.now(), endedAt: Infinity }
  spans.push(span)
  await sleep(1)
  span.endedAt = performance.now()
  return 'done'
}

/** Of turns in one session: the longest time in which nothing ran, its commit and its start included. */
const findLongestGap = (): number =>
  Math.max(...spans.slice(1).map(({ beganAt }, index) => beganAt - (spans[index]?.endedAt ?? 0)))

/** As many calls at once as the task says; the answer is how many of them failed. */
async function callQuick(turn: ScriptedTurn): Promise<string> {
  const calls = Array.from({ length: Number(turn.task) }, (_, n) =>
    turn.tool('call_agent', { agent_id: 'quick', message: `part ${n}` }),
  )
  return String((await Promise.all(calls)).filter(({ ok }) => !ok).length)
}

type Measured = { name: string; turns: number; tookMs: number; waitedMs: number; failed: number }

/** The longest time from the end of a turn to the start of the next, of one that was queued by then. */
async function findLongestWait(line: Tieline, session: SessionId, after: number): Promise<number> {
  const queuedAt = new Map<string, number>()
  let [endedAt, longest] = [-Infinity, 0]
  for (const { seq, at, event } of await line.log.events(session)) {
    if (seq <= after) continue
    if (event.type === 'message.sent' && event.turn !== null) queuedAt.set(event.turn, at)
    if (event.type === 'turn.ended' && event.session === session) endedAt = at
    if (event.type === 'turn.started' && event.session === session && endedAt > 0)
      longest = Math.max(longest, at - Math.max(endedAt, queuedAt.get(event.turn ?? '') ?? 0))
  }
  return longest
}

async function measure(
  line: Tieline,
  name: string,
  targets: readonly SessionId[],
  start: () => readonly PromiseLike<{ outcome: string; output: string }>[],
): Promise<Measured> {
  const after = line.log.lastSeq()
  spans.length = 0
  const startedAt = performance.now()
  const results = await Promise.all(start())
  const tookMs = performance.now() - startedAt
  // Many roots at once keep the process busy with themselves, which is no pause of the queue.
  const waits: number[] = results.length === 1 ? [findLongestGap()] : []
  for (const session of targets) waits.push(await findLongestWait(line, session, after))
  const failed = results.filter(
    ({ outcome, output }) => outcome !== 'completed' || (output !== '0' && output !== 'done'),
  ).length
  return { name, turns: results.length, tookMs, waitedMs: Math.max(...waits), failed }
}

async function openSession(line: Tieline, agent: string): Promise<SessionId> {
  const sent = await line.run(agent, '0').accepted
  if (isRefusal(sent)) throw new Error(`no session of ${agent}: ${sent.code}`)
  await line.idle()
  return sent.session
}

async function measureAll(line: Tieline, progress: Progress): Promise<Measured[]> {
  const main = await line.agents.session('quick')
  if (isRefusal(main)) throw new Error(`no main session: ${main.code}`)
  const own: SessionId[] = []
  for (let n = 0; n < sessions; n += 1) own.push(await openSession(line, 'quick'))
  const done: Measured[] = []
  const add = async (...[name, targets, start]: [string, SessionId[], Parameters<typeof measure>[3]]) => {
    done.push(await measure(line, name, targets, start))
    progress.step(name)
  }
  await add(`${parallel} parallel calls to one agent`, [main.session], () => [
    line.run('caller', String(parallel)),
  ])
  await add(`${roots} roots that call one agent`, [main.session], () =>
    Array.from({ length: roots }, () => line.run('caller', '1')),
  )
  await add(`${inputs} inputs in each of ${sessions} sessions`, own, () =>
    own.flatMap((session) => Array.from({ length: inputs }, () => line.run('quick', 'go', { session }))),
  )
  return done
}

export async function queues(progress: Progress): Promise<Part> {
  progress.part('queues', 3)
  const dataDir = mkdtempSync(join(tmpdir(), 'tieline-bench-queues-'))
  const line = await tieline({
    dataDir,
    agents: {
      quick: { script: answerSoon },
      caller: { script: callQuick, allowSubAgentCalls: true, tools: ['call_agent'] },
    },
  })
  try {
    const done = await measureAll(line, progress)
    const row = ({ name, turns, tookMs, waitedMs, failed }: Measured): string[] => [
      name,
      String(turns),
      formatNumber(tookMs),
      formatNumber(waitedMs),
      String(failed),
    ]
    return {
      name: 'queues',
      tables: [
        {
          title: 'Queues of an agent that takes 1 ms (on disk)',
          columns: ['what', 'runs', 'took, ms', 'longest pause, ms', 'failed'],
          rows: done.map(row),
        },
      ],
      notes: [
        [
          'A pause is the time from the end of a turn to the start of the next one that waits:',
          'for the parallel calls until its function really runs, for the others as recorded.',
        ].join(' '),
      ],
      checks: [
        ...done.flatMap(({ name, waitedMs, failed }) => [
          requireAtMost(`queues, ${name}: longest pause`, waitedMs, waitMsMax, ' ms'),
          requireAtMost(`queues, ${name}: failed`, failed, 0),
        ]),
        requireAtMost('queues: drained', done.at(-1)?.tookMs ?? Number.NaN, drainMsMax, ' ms'),
      ],
    }
  } finally {
    await line.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}
