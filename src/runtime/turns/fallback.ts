/**
 * A turn whose agent cannot work goes to the next of its `fallback`, before anything was begun, and never after.
 * R10: each move is a recorded step: a turn that runs again goes the same way, however things are by then.
 */
import type { Agent } from '../../model/agent.ts'
import { isDriven } from '../../model/agent.ts'
import { hasBegun, joinMoves, listNext, type Moved } from '../../model/fallback.ts'
import { resolveAgent } from '../kernel/projects-port.ts'
import type { TurnOutcome } from '../kernel/ports.ts'
import { makeStepKey } from '../kernel/recorded.ts'
import { isThere } from '../kernel/runtime.ts'
import type { Running } from '../kernel/running.ts'
import type { Runtime } from './runtime.ts'

/** A limit that is reset sooner is waited for. */
const waitMsMax = 10_000

export const moveKey = (from: string, atOnce: boolean): string => makeStepKey('move', from, { atOnce })

/** Runs the turn with its agent, and with those that take its place. */
export async function withFallback(
  runtime: Runtime,
  running: Running,
  run: () => Promise<TurnOutcome>,
): Promise<TurnOutcome> {
  const first = running.agent
  if (first.fallback === undefined) return run()
  let last: TurnOutcome | null = null
  for (let isFirst = true; ; isFirst = false) {
    const atOnce = isFirst ? await whyAtOnce(runtime, running) : null
    if (atOnce === null) {
      last = await run()
      if (last.unavailable === undefined) return last
    }
    const why = atOnce ?? last?.unavailable ?? ''
    if (!(await moveOn(runtime, running, first, why, atOnce !== null)))
      return last ?? { outcome: 'failed', output: '', error: `agent_unavailable: ${why}`, iterations: 0 }
  }
}

/** What is known against it before it is asked; null where nothing is, or where it was asked all the same. */
async function whyAtOnce(runtime: Runtime, running: Running): Promise<string | null> {
  const known = await findMove(runtime, running, true)
  if (known !== null) return known.why
  const isNew = running.recorded === null || running.recorded.events.length === 0
  if (!isNew) return null
  const hindrance = runtime.agents.whyUnavailable?.(running.agent) ?? null
  if (hindrance !== null) return `${hindrance.why}; ${hindrance.cure}`
  const limit = runtime.agents.limitOf?.(running.agent) ?? null
  return limit === null || limit.resetsAt - runtime.clock.now() < waitMsMax ? null : limit.why
}

/** As this turn was moved before, where it runs again. */
async function findMove(runtime: Runtime, running: Running, atOnce: boolean): Promise<Moved | null> {
  const { name } = running.agent
  const key = moveKey(name, atOnce)
  const found = running.recorded?.events.find(
    ({ event }) => event.type === 'step.ended' && event.kind === 'move' && event.key === key,
  )?.event
  if (found?.type === 'step.ended') return found.output as Moved
  return (await runtime.moves?.(name, key)) ?? null
}

async function moveOn(
  runtime: Runtime,
  running: Running,
  first: Agent,
  why: string,
  atOnce: boolean,
): Promise<boolean> {
  const { agent } = running
  const known = await findMove(runtime, running, atOnce)
  // What was begun is not done again by somebody else.
  if (known === null && hasBegun(readDoings(running))) return false
  const to = known?.to ?? chooseNext(runtime, running, first)
  const next = to === undefined ? undefined : resolveAgent(runtime.agents, to)
  if (to === undefined || next === undefined) return false
  const moved: Moved = known ?? { from: agent.name, to, why }
  const wasRecorded = running.recorded?.step(moveKey(agent.name, atOnce), { kind: 'move', name: agent.name })
  if (wasRecorded === undefined)
    running.buffer.push({
      type: 'step.ended',
      session: running.row.session,
      turn: running.row.id,
      kind: 'move',
      name: agent.name,
      key: moveKey(agent.name, atOnce),
      input: { atOnce },
      ok: true,
      output: moved,
      usage: null,
      startedAt: runtime.clock.now(),
    })
  running.moved = joinMoves(running.moved, moved)
  running.agent = next
  return true
}

/** An earlier run of this turn may have done something that this one has not come to. */
function readDoings(running: Running) {
  const before = running.recorded?.events.filter(
    ({ event }) => event.type !== 'step.ended' || event.kind === 'tool',
  )
  return {
    said: running.said,
    tools: running.toolCalls.size + running.toolsRunning + (before?.length ?? 0),
    calls: running.pendingBelow + running.settled.size,
    tokensUsed: running.tokensUsed,
  }
}

/** The first that could do it now: it is known, can be run here, and can be held to what this turn may do. */
function chooseNext(runtime: Runtime, running: Running, first: Agent): string | undefined {
  const { agents } = runtime
  const { row, session } = running
  const isRestricted = row.grant.authority.tools !== null
  return listNext(first.fallback ?? [], running.agent.name).find((name) => {
    const agent = resolveAgent(agents, name)
    if (agent === undefined || row.grant.path.some((hop) => hop.agent === agent.name)) return false
    const isHeld = !isRestricted || !isDriven(agent) || (agents.whyUnrestricted?.(agent) ?? null) === null
    return isHeld && (agents.whyUnavailable?.(agent) ?? null) === null && isThere(runtime, agent, session)
  })
}

/** Whether somebody could take the place of an agent that cannot work. */
export const hasFallback = ({ agents }: Pick<Runtime, 'agents'>, { fallback = [] }: Agent): boolean =>
  fallback.some((name) => {
    const agent = resolveAgent(agents, name)
    return agent !== undefined && (agents.whyUnavailable?.(agent) ?? null) === null
  })
