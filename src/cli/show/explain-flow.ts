import type { CallRecord } from '../../wire/calls.ts'
import type { Flow, WaitEdge } from '../../wire/log.ts'
import { endWords, timeWords } from './amounts.ts'
import { firstLine, oneLine } from './width.ts'

export type FlowExplanation = {
  id: string
  now: number
  over: boolean
  waits: (WaitEdge & { task: string })[]
  busy: { agent: string; session: string; since: number; deadline: number | null }[]
  ended: { call: string; agent: string; outcome: string; cause: string; at: number | null }[]
  refused: {
    call: string
    caller: string
    agent: string
    tool: string
    code: string
    why: string
    at: number
  }[]
}

export function explainFlows(
  flows: readonly Flow[],
  waits: readonly WaitEdge[],
  id: string,
  now: number,
): FlowExplanation {
  const calls = flows.flatMap((flow) => flow.calls)
  const sessions = new Set<string | null>([
    ...flows.map((flow) => flow.root.session),
    ...calls.map((call) => call.targetSession),
  ])
  const edges = waits.filter(
    (edge) => sessions.has(edge.waiter) || calls.some((call) => call.call === edge.call),
  )
  const waiting = new Set<string>(edges.map((edge) => edge.waiter))
  const running = [
    ...flows
      .filter(({ root }) => root.endedAt === null)
      .map(({ root }) => ({
        agent: root.agent,
        session: root.session as string,
        since: root.openedAt,
        deadline: null,
      })),
    ...calls
      .filter((call) => call.outcome === null)
      .map((call) => ({
        agent: call.target,
        session: call.targetSession ?? '',
        since: call.created_at,
        deadline: call.deadline,
      })),
  ]
  return {
    id,
    now,
    over: running.length === 0,
    waits: edges.map((edge) => ({
      ...edge,
      task: calls.find((call) => call.call === edge.call)?.task ?? '',
    })),
    busy: running.filter(({ session }) => !waiting.has(session)),
    ended: calls.filter(isNoAnswer).map((call) => ({
      call: call.call,
      agent: call.target,
      outcome: call.outcome ?? '',
      cause: call.errors[0] ?? '',
      at: call.endedAt,
    })),
    refused: calls
      .filter((call) => call.refusal !== null)
      .map((call) => ({
        call: call.call,
        caller: call.caller,
        agent: call.target,
        tool: call.tool,
        code: call.refusal?.code ?? '',
        why: call.errors[0] ?? '',
        at: call.created_at,
      })),
  }
}

const isNoAnswer = ({ outcome }: CallRecord): boolean =>
  outcome !== null && outcome !== 'completed' && outcome !== 'refused'

export function explanationLines({ id, now, over, waits, busy, ended, refused }: FlowExplanation): string[] {
  const quiet = over && ended.length === 0 && refused.length === 0
  return [
    ...(over
      ? [
          `Nothing of ${id} is running or waiting.${quiet ? ' Everything ended with an answer, and nothing was refused.' : ''}`,
        ]
      : []),
    ...section(
      'Waiting',
      waits.map(
        (edge) =>
          `${oneLine(edge.waiterAgent)} waits for ${oneLine(edge.targetAgent)} (${edge.call ?? edge.target}) for ${timeWords(now - edge.since)}, ${leftOf(edge.until, now)}${edge.task === '' ? '' : `: ${firstLine(edge.task)}`}`,
      ),
    ),
    ...section(
      'Working, or standing still',
      busy.map(
        (one) =>
          `${oneLine(one.agent)} (${one.session}) for ${timeWords(now - one.since)}, ${one.deadline === null ? 'with no deadline of a call' : leftOf(one.deadline, now)}`,
      ),
    ),
    ...section(
      'Ended without an answer',
      ended.map(
        (one) =>
          `${oneLine(one.agent)} (${one.call}): ${endWords(one.outcome as Parameters<typeof endWords>[0], one.cause)}`,
      ),
    ),
    ...section(
      'Refused',
      refused.map(
        (one) =>
          `${oneLine(one.caller) || 'somebody'} wanted ${oneLine(one.agent)} by ${one.tool}: ${one.code}. ${oneLine(one.why)}`,
      ),
    ),
  ]
}

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [`${title}:`, ...lines.map((line) => `  ${line}`)]

const leftOf = (deadline: number, now: number): string =>
  deadline > now
    ? `deadline in ${timeWords(deadline - now)}`
    : `deadline passed ${timeWords(now - deadline)} ago`
