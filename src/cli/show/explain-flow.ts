/** Why a flow stalled or ended as it did, from what a server says about it. Pure. */
import type { Flow, WaitEdge } from '../../wire/log.ts'
import { describeEnd, formatDuration } from './amounts.ts'
import { firstLine, oneLine } from './width.ts'

export type FlowExplanation = ReturnType<typeof explainFlows>

export function explainFlows(flows: readonly Flow[], waits: readonly WaitEdge[], id: string, now: number) {
  const calls = flows.flatMap((flow) => flow.calls)
  const sessions = new Set<string | null>([
    ...flows.map(({ root }) => root.session),
    ...calls.map(({ targetSession }) => targetSession),
  ])
  const edges = waits.filter(
    (edge) => sessions.has(edge.waiter) || calls.some(({ call }) => call === edge.call),
  )
  const waiting = new Set<string>(edges.map(({ waiter }) => waiter))
  const running = [
    ...flows
      .filter(({ root }) => root.endedAt === null)
      .map(({ root: { agent, session, openedAt } }) => ({ agent, session, since: openedAt, deadline: null })),
    ...calls
      .filter(({ outcome }) => outcome === null)
      .map(({ target, targetSession, created_at, deadline }) => ({
        agent: target,
        session: targetSession ?? '',
        since: created_at,
        deadline,
      })),
  ]
  return {
    id,
    now,
    over: running.length === 0,
    waits: edges.map((edge) => ({
      ...edge,
      task: calls.find(({ call }) => call === edge.call)?.task ?? '',
    })),
    busy: running.filter(({ session }) => !waiting.has(session)),
    ended: calls.flatMap(({ call, target, outcome, errors, endedAt }) =>
      outcome === null || outcome === 'completed' || outcome === 'refused'
        ? []
        : [{ call, agent: target, outcome, cause: errors[0] ?? '', at: endedAt }],
    ),
    refused: calls.flatMap(({ call, caller, target, tool, refusal, errors, created_at }) =>
      refusal === null
        ? []
        : [{ call, caller, agent: target, tool, code: refusal.code, why: errors[0] ?? '', at: created_at }],
    ),
  }
}

export function renderExplanation(explained: FlowExplanation): string[] {
  const { id, now, over, waits, busy, ended, refused } = explained
  const isPlain = over && ended.length === 0 && refused.length === 0
  const nothing = `Nothing of ${id} is running or waiting.`
  const since = (at: number, until: number | null): string =>
    `for ${formatDuration(now - at)}, ${until === null ? 'with no deadline of a call' : formatDeadline(until, now)}`
  return [
    ...(isPlain
      ? [`${nothing} Everything ended with an answer, and nothing was refused.`]
      : over
        ? [nothing]
        : []),
    ...renderSection('Waiting', waits, (edge) => {
      const who = `${oneLine(edge.waiterAgent)} waits for ${oneLine(edge.targetAgent)}`
      const task = edge.task === '' ? '' : `: ${firstLine(edge.task)}`
      return `${who} (${edge.call ?? edge.target}) ${since(edge.since, edge.until)}${task}`
    }),
    ...renderSection(
      'Working, or standing still',
      busy,
      (one) => `${oneLine(one.agent)} (${one.session}) ${since(one.since, one.deadline)}`,
    ),
    ...renderSection(
      'Ended without an answer',
      ended,
      (one) => `${oneLine(one.agent)} (${one.call}): ${describeEnd(one.outcome, one.cause)}`,
    ),
    ...renderSection('Refused', refused, ({ caller, agent, tool, code, why }) => {
      const who = `${oneLine(caller) || 'somebody'} wanted ${oneLine(agent)} by ${tool}`
      return `${who}: ${code}. ${oneLine(why)}`
    }),
  ]
}

const renderSection = <T>(title: string, items: readonly T[], render: (item: T) => string): string[] =>
  items.length === 0 ? [] : [`${title}:`, ...items.map((item) => `  ${render(item)}`)]

const formatDeadline = (deadline: number, now: number): string =>
  deadline > now
    ? `deadline in ${formatDuration(deadline - now)}`
    : `deadline passed ${formatDuration(now - deadline)} ago`
