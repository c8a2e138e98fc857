/**
 * The call protocol as pure steps: the actions of `calls/Calls.tla`, in the same order.
 * The rules of `src/model` decide, and `fold.ts` folds what they record. The steps add what `src/runtime` does
 * around the rules: which transaction runs when, what a node keeps in memory, and what a crash takes away.
 */
import type { Event } from '../../src/model/event.ts'
import { driverSteps, enderSteps } from './driver-steps.ts'
import { belowFacts, makeLimits, nodeId, nowMs, sessionId, turnFacts, turnId } from './facts.ts'
import {
  enter,
  enterEnder,
  forgetWaits,
  isIdle,
  noProgress,
  record,
  startTurn,
  type ProtocolStep,
  type World,
} from './protocol-step.ts'
import { makeRules } from './rules.ts'
import type { Model } from './search.ts'
import {
  edit,
  listEnders,
  listTurns,
  makeKey,
  makeNames,
  getRow,
  getSession,
  sortSet,
  initialState,
  type Driver,
  type Options,
  type State,
} from './state.ts'

export function callModel(
  options: Options,
): Omit<Model<State>, 'steps'> & { steps(state: State): ProtocolStep[] } {
  const world: World = {
    options,
    rules: makeRules(options),
    agents: makeNames('a', options.agents),
    nodes: makeNames('n', options.nodes),
  }
  return {
    init: initialState,
    key: makeKey,
    steps: (state) => [
      ...sends(world, state),
      ...state.run.flatMap((driver) => driverSteps(world, state, driver)),
      ...listEnders(state).flatMap((ender) => enderSteps(world, state, ender)),
      ...fades(state),
      ...deadlines(world, state),
      ...sweeps(world, state),
      ...faults(world, state),
    ],
  }
}

function sends(world: World, state: State): ProtocolStep[] {
  const { options, agents, nodes } = world
  const turn = state.rows.length + 1
  if (turn > options.turnsMax || state.rows.filter((row) => row.par === 0).length >= options.rootsMax)
    return []
  return nodes
    .filter((node) => !state.down.includes(node))
    .flatMap((node) =>
      agents.map((agent) => {
        const idle = isIdle(world, state, agent)
        const grant = { ...emptyGrant(options), agent, path: [{ session: sessionId(agent), agent }] }
        const sent: Event = {
          type: 'message.sent',
          session: sessionId(agent),
          turn: turnId(turn),
          message: `msg_${turn}`,
          flow: `flow_${turn}`,
          from: null,
          senderTurn: null,
          source: 'user',
          applet: null,
          inReplyTo: null,
          text: 'go',
          tokens: 1,
          deadline: null,
          trace: null,
          grant,
        }
        return record(
          world,
          state,
          `Send(${node},${agent})`,
          [sent, ...(idle ? [startTurn(turn, agent, node)] : [])],
          (next) => (idle ? enter(next, [node, turn, 1]) : next),
        )
      }),
    )
}

const emptyGrant = (options: Options) => ({
  depth: 0,
  subagentDepth: 0,
  authority: { tools: null, nested: true },
  tokensMax: options.budget === 0 ? null : options.budget,
  maxIterations: 16,
})

/**
 * A wait whose driver is gone counts until its turn is taken over or ends. Here that may be at any time, and nothing is
 * recorded.
 */
const fades = (state: State): ProtocolStep[] =>
  state.waits
    .filter((id) => !state.aw.includes(id))
    .map((id) => ({
      action: `Fade(${id})`,
      events: [],
      next: { ...state, waits: state.waits.filter((other) => other !== id) },
    }))

function deadlines(world: World, state: State): ProtocolStep[] {
  const { options, rules } = world
  const given = (turn: number) => [turnFacts(options, state, turn), belowFacts(options, state, turn)] as const
  return listTurns(state).flatMap((turn) => {
    const row = getRow(state, turn)
    const steps: ProtocolStep[] = []
    const cancel = (action: string, outcome: 'cancelled' | 'timed_out'): void => {
      steps.push(
        record(
          world,
          state,
          action,
          rules.cancelTurn(...given(turn), outcome, 'asked', noProgress, nowMs, makeLimits(options)),
        ),
      )
    }
    if (options.timeouts && row.call === 'pending') {
      steps.push(
        record(
          world,
          state,
          `Expire(${turn})`,
          rules.endCall(
            ...given(turn),
            'timed_out',
            'late',
            'deadline',
            noProgress,
            nowMs,
            makeLimits(options),
          ),
        ),
      )
    }
    if (options.timeouts && row.st === 'running' && row.stop === 'no' && row.ses !== null && row.par !== 0)
      cancel(`Due(${turn})`, 'timed_out')
    if (options.cancels && row.par === 0 && row.st !== 'ended' && row.stop === 'no')
      cancel(`Cancel(${turn})`, 'cancelled')
    return steps
  })
}

function sweeps(world: World, state: State): ProtocolStep[] {
  const { options, nodes } = world
  return nodes
    .filter((node) => !state.down.includes(node))
    .flatMap((node) =>
      listTurns(state).flatMap((turn): ProtocolStep[] => {
        const row = getRow(state, turn)
        const session = getSession(state, turn)
        if (row.st === 'queued') {
          const first = !listTurns(state).some(
            (id) =>
              id !== turn &&
              getSession(state, id) === session &&
              (getRow(state, id).st === 'running' || (getRow(state, id).st === 'queued' && id < turn)),
          )
          return first
            ? [
                record(world, state, `Claim(${node},${turn})`, [startTurn(turn, session, node)], (next) =>
                  enter(next, [node, turn, 1]),
                ),
              ]
            : []
        }
        const owner = row.node ?? ''
        const isDead =
          owner === node
            ? options.Adopt && !state.seen.some((driver) => driver[0] === node && driver[1] === turn)
            : state.lapsed.includes(owner)
        if (row.st !== 'running' || !isDead) return []
        if (!(row.epoch < options.epochMax || state.down.includes(owner) || owner === node)) return []
        const claimed: Event = {
          type: 'session.claimed',
          session: sessionId(session),
          turn: turnId(turn),
          node: nodeId(node),
          epoch: row.epoch + 1,
        }
        const driver: Driver = [node, turn, row.epoch + 1]
        if (row.stop !== 'no')
          return [
            record(world, state, `Oust(${node},${turn})`, [claimed], (next) =>
              enterEnder(forgetWaits(next, turn), driver),
            ),
          ]
        return [
          record(world, state, `Takeover(${node},${turn})`, [claimed], (next) =>
            enter(forgetWaits(edit(next, turn, { pos: 0 }), turn), driver),
          ),
        ]
      }),
    )
}

function faults({ options, nodes }: World, state: State): ProtocolStep[] {
  const spare = state.faults < options.faultsMax
  return nodes.flatMap((node) => {
    const steps: ProtocolStep[] = []
    const put = (action: string, next: State): void =>
      void steps.push({ action: `${action}(${node})`, events: [], next })
    const isDown = state.down.includes(node)
    if (!isDown && spare && options.faults.includes('crash') && state.down.length + 1 < nodes.length) {
      const lives = (driver: Driver): boolean => driver[0] !== node
      const aw = state.aw.filter((id) => getRow(state, getRow(state, id).par).node !== node)
      put('Crash', {
        ...state,
        down: sortSet([...state.down, node]),
        faults: state.faults + 1,
        run: state.run.filter(lives),
        seen: state.seen.filter(lives),
        aw,
      })
    }
    if (!state.lapsed.includes(node) && (isDown || (spare && options.faults.includes('lapse')))) {
      put('Lapse', {
        ...state,
        lapsed: sortSet([...state.lapsed, node]),
        faults: isDown ? state.faults : state.faults + 1,
      })
    }
    if (!isDown && state.lapsed.includes(node))
      put('Beat', { ...state, lapsed: state.lapsed.filter((other) => other !== node) })
    return steps
  })
}
