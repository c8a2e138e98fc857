import type { TurnResult } from '../../src/model/end.ts'
import type { Event, Outcome } from '../../src/model/event.ts'
import {
  belowFacts,
  farMs,
  limitsOf,
  nodeId,
  nowMs,
  openFacts,
  openRequest,
  openWorld,
  sessionId,
  turnFacts,
  turnId,
  waitPath,
} from './facts.ts'
import { fold } from './fold.ts'
import { rulesOf, type Rules } from './rules.ts'
import type { Model } from './search.ts'
import {
  edit,
  idsOf,
  isOurs,
  keyOf,
  kidsOf,
  names,
  rowOf,
  sameDriver,
  sessionOf,
  sorted,
  start,
  type Driver,
  type Kind,
  type Options,
  type State,
} from './state.ts'
import { isRefusal } from '../../src/model/refusal.ts'

/** `events` is what the step appends to the log; a step of memory alone appends nothing. */
export type ProtocolStep = {
  readonly action: string
  readonly next: State
  readonly events: readonly Event[]
}

type World = { options: Options; rules: Rules; agents: string[]; nodes: string[] }

export function callModel(
  options: Options,
): Omit<Model<State>, 'steps'> & { steps(state: State): ProtocolStep[] } {
  const world: World = {
    options,
    rules: rulesOf(options),
    agents: names('a', options.agents),
    nodes: names('n', options.nodes),
  }
  return {
    init: start,
    key: keyOf,
    steps: (state) => [
      ...sends(world, state),
      ...state.run.flatMap((driver) => drives(world, state, driver)),
      ...fades(state),
      ...deadlines(world, state),
      ...sweeps(world, state),
      ...faults(world, state),
    ],
  }
}

const leave = (state: State, driver: Driver): State => ({
  ...state,
  run: state.run.filter((other) => !sameDriver(other, driver)),
  seen: state.seen.filter((other) => !sameDriver(other, driver)),
})

/** A node has one entry for a turn: a second driver of the same turn takes the place of the first. */
const enter = (state: State, driver: Driver): State => ({
  ...state,
  run: sorted([...state.run, driver]),
  seen: sorted([...state.seen.filter((other) => other[0] !== driver[0] || other[1] !== driver[1]), driver]),
})

const isIdle = ({ options }: World, state: State, session: string): boolean =>
  !options.OneTurn ||
  !idsOf(state).some((id) => rowOf(state, id).st !== 'ended' && sessionOf(state, id) === session)

const started = (turn: number, session: string, node: string): Event => ({
  type: 'turn.started',
  session: sessionId(session),
  turn: turnId(turn),
  node: nodeId(node),
  epoch: 1,
  deadline: 0,
})

/** Waits that nobody keeps in memory any more are forgotten with their turn. */
const forgetWaits = (state: State, turn: number): State => ({
  ...state,
  aw: state.aw.filter((id) => rowOf(state, id).par !== turn),
})

function record(
  { options }: World,
  state: State,
  action: string,
  events: readonly Event[],
  memory: (next: State) => State = (next) => next,
): ProtocolStep {
  const folded = fold(options, state, events)
  const ended = idsOf(state).filter(
    (id) => rowOf(state, id).st === 'running' && rowOf(folded, id).st === 'ended',
  )
  return { action, events, next: memory(ended.reduce(forgetWaits, folded)) }
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
          [sent, ...(idle ? [started(turn, agent, node)] : [])],
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

function drives(world: World, state: State, driver: Driver): ProtocolStep[] {
  const { options } = world
  const ours = isOurs(state, driver)
  const may = ours || !options.Fence
  const torn = (next: State): State => (ours ? next : { ...next, torn: true })
  return [
    ...(may
      ? [
          ...opens(world, state, driver),
          ...spends(world, state, driver),
          ...waits(world, state, driver),
          ...finishes(world, state, driver),
        ].map((step) => ({ ...step, next: torn(step.next) }))
      : []),
    ...(ours
      ? [
          ...recalls(world, state, driver),
          ...unwaits(world, state, driver),
          ...stops(world, state, driver),
          ...forgets(world, state, driver),
        ]
      : drops(world, state, driver)),
  ]
}

function opens(world: World, state: State, [node, caller]: Driver): ProtocolStep[] {
  const { options, agents } = world
  const row = rowOf(state, caller)
  if (state.rows.length >= options.turnsMax || (options.Recall && row.pos !== kidsOf(state, caller).length))
    return []
  const left = row.max - row.used - row.below
  const grants =
    options.budget === 0 ? [0] : Array.from({ length: Math.max(0, left) }, (_, index) => index + 1)
  return agents.flatMap((agent) =>
    options.kinds.flatMap((kind) =>
      grants.flatMap((tokens) => open(world, state, node, caller, agent, kind, tokens)),
    ),
  )
}

/**
 * R1: the rule decides over the facts of this very state, and what it allows is recorded in the same step.
 */
function open(
  world: World,
  state: State,
  node: string,
  caller: number,
  agent: string,
  kind: Kind,
  tokens: number,
): ProtocolStep[] {
  const { options, rules } = world
  const turn = state.rows.length + 1
  const request = openRequest(turn, agent, kind, tokens)
  const decision = rules.openCall(
    request,
    openFacts(options, state, caller, agent, kind),
    openWorld(options, state, caller),
  )
  if (isRefusal(decision)) return []
  const session = kind === 'kept' ? agent : `e${turn}`
  const { grant } = decision
  const opened: Event = {
    type: 'call.opened',
    session: sessionId(sessionOf(state, caller)),
    turn: turnId(caller),
    call: `call_${turn}`,
    key: String(rowOf(state, caller).pos + 1),
    flow: turnFacts(options, state, caller).turn.flow,
    target: request.session,
    tool: request.tool,
    task: request.task,
    taskHash: request.taskHash,
    input: null,
    background: request.background,
    outputSchema: null,
    requested: null,
    deadline: decision.deadline,
    grant,
    context: { tokensMax: 0, tokens: 0, parts: {}, messages: null, summary: null, workspace: null },
    attachment: null,
  }
  const created: Event = {
    type: 'session.created',
    session: request.session,
    turn: turnId(turn),
    agent,
    kind: 'ephemeral',
    parent: null,
    cwd: '/',
    title: '',
    model: null,
    flow: null,
  }
  const idle = isIdle(world, state, session)
  return [
    record(
      world,
      state,
      `Open(${node},${caller},${agent},${kind},${tokens})`,
      [opened, ...(kind === 'kept' ? [] : [created]), ...(idle ? [started(turn, session, node)] : [])],
      (next) => {
        const made = edit(next, caller, { pos: rowOf(next, caller).pos + 1 })
        return idle ? enter(made, [node, turn, 1]) : made
      },
    ),
  ]
}

function spends(world: World, state: State, [node, turn, epoch]: Driver): ProtocolStep[] {
  const row = rowOf(state, turn)
  if (row.max - row.used - row.below <= 0) return []
  const step: Event = {
    type: 'step.ended',
    session: sessionId(sessionOf(state, turn)),
    turn: turnId(turn),
    kind: 'model',
    name: 'm',
    key: 'k',
    input: null,
    ok: true,
    output: null,
    usage: { input: 0, output: 1, estimated: false },
    startedAt: 0,
  }
  return [record(world, state, `Spend(${node},${turn},${epoch})`, [step])]
}

function recalls({ options }: World, state: State, [node, turn, epoch]: Driver): ProtocolStep[] {
  const { pos } = rowOf(state, turn)
  if (!options.Recall || pos >= kidsOf(state, turn).length) return []
  return [
    { action: `Again(${node},${turn},${epoch})`, events: [], next: edit(state, turn, { pos: pos + 1 }) },
  ]
}

function waits(world: World, state: State, [node, turn]: Driver): ProtocolStep[] {
  const waiter = sessionOf(state, turn)
  return kidsOf(state, turn)
    .filter((id) => {
      const row = rowOf(state, id)
      return (
        row.call === 'pending' &&
        row.bg &&
        !state.aw.includes(id) &&
        !(world.options.CheckGraph && waitPath(state, `e${id}`, waiter) !== null)
      )
    })
    .map((id) => {
      const event: Event = {
        type: 'wait.started',
        session: sessionId(waiter),
        turn: turnId(turn),
        target: sessionId(`e${id}`),
        until: farMs,
      }
      return record(
        world,
        state,
        `Wait(${node},${turn},${id})`,
        state.waits.includes(id) ? [] : [event],
        (next) => ({ ...next, aw: sorted([...next.aw, id]) }),
      )
    })
}

function unwaits(world: World, state: State, [node, turn]: Driver): ProtocolStep[] {
  return state.aw
    .filter((id) => rowOf(state, id).par === turn)
    .map((id) => {
      const event: Event = {
        type: 'wait.ended',
        session: sessionId(sessionOf(state, turn)),
        turn: turnId(turn),
        target: sessionId(`e${id}`),
        reason: 'the call ended',
      }
      return record(world, state, `Unwait(${node},${turn},${id})`, [event], (next) => ({
        ...next,
        aw: next.aw.filter((other) => other !== id),
      }))
    })
}

/** A wait whose driver is gone counts until its time is over. The row stays, so nothing is recorded. */
const fades = (state: State): ProtocolStep[] =>
  state.waits
    .filter((id) => !state.aw.includes(id))
    .map((id) => ({
      action: `Fade(${id})`,
      events: [],
      next: { ...state, waits: state.waits.filter((other) => other !== id) },
    }))

const noProgress = (): undefined => undefined

function ending(world: World, state: State, turn: number, outcome: Outcome): readonly Event[] {
  const { options, rules } = world
  const { used, below } = rowOf(state, turn)
  const result: TurnResult = {
    outcome,
    output: 'x',
    error: null,
    iterations: 1,
    toolCalls: [],
    tokensUsed: used,
    tokensBelow: below,
    entry: null,
  }
  return rules.endTurn(
    turnFacts(options, state, turn),
    belowFacts(options, state, turn),
    result,
    noProgress,
    nowMs,
    limitsOf(options),
  )
}

function finishes(world: World, state: State, driver: Driver): ProtocolStep[] {
  const [node, turn, epoch] = driver
  const blocked = kidsOf(state, turn).some(
    (id) => rowOf(state, id).call === 'pending' && (!rowOf(state, id).bg || state.aw.includes(id)),
  )
  return blocked
    ? []
    : [
        record(
          world,
          state,
          `Finish(${node},${turn},${epoch})`,
          ending(world, state, turn, 'completed'),
          (next) => leave(next, driver),
        ),
      ]
}

function stops(world: World, state: State, driver: Driver): ProtocolStep[] {
  const [node, turn, epoch] = driver
  const { stop } = rowOf(state, turn)
  if (stop === 'no' || !state.seen.some((other) => sameDriver(other, driver))) return []
  return [
    record(world, state, `Stop(${node},${turn},${epoch})`, ending(world, state, turn, stop), (next) =>
      leave(next, driver),
    ),
  ]
}

function drops({ options }: World, state: State, driver: Driver): ProtocolStep[] {
  const [node, turn, epoch] = driver
  const left = leave(state, driver)
  const next = options.OwnEntry
    ? left
    : { ...left, seen: left.seen.filter((other) => other[0] !== node || other[1] !== turn) }
  return [{ action: `Drop(${node},${turn},${epoch})`, events: [], next }]
}

function forgets({ options }: World, state: State, driver: Driver): ProtocolStep[] {
  if (!options.faults.includes('forget') || state.faults >= options.faultsMax) return []
  const next = forgetWaits({ ...leave(state, driver), faults: state.faults + 1 }, driver[1])
  return [{ action: `Forget(${driver.join(',')})`, events: [], next }]
}

function deadlines(world: World, state: State): ProtocolStep[] {
  const { options, rules } = world
  const given = (turn: number) => [turnFacts(options, state, turn), belowFacts(options, state, turn)] as const
  return idsOf(state).flatMap((turn) => {
    const row = rowOf(state, turn)
    const steps: ProtocolStep[] = []
    const cancel = (action: string, outcome: 'cancelled' | 'timed_out'): void => {
      steps.push(
        record(
          world,
          state,
          action,
          rules.cancelTurn(...given(turn), outcome, 'asked', noProgress, nowMs, limitsOf(options)),
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
            limitsOf(options),
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
      idsOf(state).flatMap((turn): ProtocolStep[] => {
        const row = rowOf(state, turn)
        const session = sessionOf(state, turn)
        if (row.st === 'queued') {
          const first = !idsOf(state).some(
            (id) =>
              id !== turn &&
              sessionOf(state, id) === session &&
              (rowOf(state, id).st === 'running' || (rowOf(state, id).st === 'queued' && id < turn)),
          )
          return first
            ? [
                record(world, state, `Claim(${node},${turn})`, [started(turn, session, node)], (next) =>
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
        if (row.stop !== 'no')
          return [record(world, state, `Orphan(${node},${turn})`, ending(world, state, turn, row.stop))]
        if (!(row.epoch < options.epochMax || state.down.includes(owner) || owner === node)) return []
        const claimed: Event = {
          type: 'session.claimed',
          session: sessionId(session),
          turn: turnId(turn),
          node: nodeId(node),
          epoch: row.epoch + 1,
        }
        return [
          record(world, state, `Takeover(${node},${turn})`, [claimed], (next) =>
            enter(forgetWaits(edit(next, turn, { pos: 0 }), turn), [node, turn, row.epoch + 1]),
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
      const aw = state.aw.filter((id) => rowOf(state, rowOf(state, id).par).node !== node)
      put('Crash', {
        ...state,
        down: sorted([...state.down, node]),
        faults: state.faults + 1,
        run: state.run.filter(lives),
        seen: state.seen.filter(lives),
        aw,
      })
    }
    if (!state.lapsed.includes(node) && (isDown || (spare && options.faults.includes('lapse')))) {
      put('Lapse', {
        ...state,
        lapsed: sorted([...state.lapsed, node]),
        faults: isDown ? state.faults : state.faults + 1,
      })
    }
    if (!isDown && state.lapsed.includes(node))
      put('Beat', { ...state, lapsed: state.lapsed.filter((other) => other !== node) })
    return steps
  })
}
