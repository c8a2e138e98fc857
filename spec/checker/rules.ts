/** The rules of `src/model` themselves, and each of them with one guard switched off by wrapping it. */
import { openCall, type OpenDecision } from '../../src/model/call.ts'
import { cancelTurn, endCall, endTurn } from '../../src/model/end.ts'
import type { OpenFacts, TurnRow } from '../../src/model/facts.ts'
import { type RefusalCode, isRefusal } from '../../src/model/refusal.ts'
import type { Guards } from './state.ts'

export type Rules = {
  openCall: typeof openCall
  endTurn: typeof endTurn
  endCall: typeof endCall
  cancelTurn: typeof cancelTurn
}

type OpenArguments = Parameters<typeof openCall>

const withTurn = (facts: OpenFacts, change: Partial<TurnRow>): OpenFacts => ({
  ...facts,
  caller: { ...facts.caller, turn: { ...facts.caller.turn, ...change } },
})

/** What the rule would have said if the facts had not offended one of its guards. */
function ignoreRefusals(
  rule: typeof openCall,
  codes: readonly RefusalCode[],
  please: (...given: OpenArguments) => OpenArguments,
): typeof openCall {
  return (...given): OpenDecision => {
    const said = rule(...given)
    return isRefusal(said) && codes.includes(said.code) ? rule(...please(...given)) : said
  }
}

/** A path that nobody is on, put back into the grant afterwards. */
function withoutCycles(rule: typeof openCall): typeof openCall {
  return (request, facts, world) => {
    const { grant } = facts.caller.turn
    const said = rule(
      request,
      withTurn(facts, { session: 'ses_nobody', grant: { ...grant, path: [] } }),
      world,
    )
    return isRefusal(said)
      ? said
      : { ...said, grant: { ...said.grant, path: [...grant.path, ...said.grant.path] } }
  }
}

function openRule(guards: Guards): typeof openCall {
  let rule: typeof openCall = openCall
  if (!guards.CheckCycle) rule = withoutCycles(rule)
  if (!guards.CheckDepth)
    rule = ignoreRefusals(rule, ['call_too_deep'], (request, facts, world) => [
      request,
      facts,
      { ...world, limits: { ...world.limits, depthMax: 64 } },
    ])
  if (!guards.CheckGraph)
    rule = ignoreRefusals(rule, ['call_deadlock'], (request, facts, world) => [
      request,
      { ...facts, target: facts.target === null ? null : { ...facts.target, waitPath: null } },
      world,
    ])
  if (!guards.OwnPending) {
    rule = ignoreRefusals(rule, ['call_ended'], (request, facts, world) => {
      const { call } = facts.caller.turn
      return [
        request,
        withTurn(facts, { stopping: null, call: call === null ? null : { ...call, pending: true } }),
        world,
      ]
    })
  }
  return rule
}

export function makeRules(guards: Guards): Rules {
  const below: <T>(rows: readonly T[]) => readonly T[] = guards.EndBelow ? (rows) => rows : () => []
  const late: typeof endTurn = (facts, ...rest) => {
    const { call } = facts.turn
    return endTurn(
      { ...facts, turn: { ...facts.turn, call: call === null ? null : { ...call, pending: true } } },
      ...rest,
    )
  }
  const ending = guards.FirstWins ? endTurn : late
  return {
    openCall: openRule(guards),
    endTurn: (facts, rows, ...rest) => ending(facts, below(rows), ...rest),
    endCall: (facts, rows, ...rest) => endCall(facts, below(rows), ...rest),
    cancelTurn: (facts, rows, ...rest) => cancelTurn(facts, below(rows), ...rest),
  }
}
