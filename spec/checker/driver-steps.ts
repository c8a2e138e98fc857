/** What a driver can do with its turn: call, spend, wait, finish, stop, or be forgotten by its node. */
import { isRefusal } from '../../src/model/refusal.ts'
import type { Event } from '../../src/model/event.ts'
import { farMs, openFacts, openRequest, openWorld, sessionId, turnFacts, turnId, waitPath } from './facts.ts'
import {
  enter,
  forgetWaits,
  isIdle,
  leave,
  record,
  recordEnd,
  startTurn,
  type ProtocolStep,
  type World,
} from './protocol-step.ts'
import {
  edit,
  isOurs,
  listChildren,
  getRow,
  sameDriver,
  getSession,
  sortSet,
  type Driver,
  type Kind,
  type State,
} from './state.ts'

export function driverSteps(world: World, state: State, driver: Driver): ProtocolStep[] {
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

/** What took a turn only to end it; it may be forgotten and dropped as a driver is. */
export function enderSteps(world: World, state: State, ender: Driver): ProtocolStep[] {
  return isOurs(state, ender)
    ? [...orphans(world, state, ender), ...forgets(world, state, ender)]
    : drops(world, state, ender)
}

function opens(world: World, state: State, [node, caller]: Driver): ProtocolStep[] {
  const { options, agents } = world
  const row = getRow(state, caller)
  if (
    state.rows.length >= options.turnsMax ||
    (options.Recall && row.pos !== listChildren(state, caller).length)
  )
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
    session: sessionId(getSession(state, caller)),
    turn: turnId(caller),
    call: `call_${turn}`,
    key: String(getRow(state, caller).pos + 1),
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
      [opened, ...(kind === 'kept' ? [] : [created]), ...(idle ? [startTurn(turn, session, node)] : [])],
      (next) => {
        const made = edit(next, caller, { pos: getRow(next, caller).pos + 1 })
        return idle ? enter(made, [node, turn, 1]) : made
      },
    ),
  ]
}

function spends(world: World, state: State, [node, turn, epoch]: Driver): ProtocolStep[] {
  const row = getRow(state, turn)
  if (row.max - row.used - row.below <= 0) return []
  const step: Event = {
    type: 'step.ended',
    session: sessionId(getSession(state, turn)),
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
  const { pos } = getRow(state, turn)
  if (!options.Recall || pos >= listChildren(state, turn).length) return []
  return [
    { action: `Again(${node},${turn},${epoch})`, events: [], next: edit(state, turn, { pos: pos + 1 }) },
  ]
}

function waits(world: World, state: State, [node, turn]: Driver): ProtocolStep[] {
  const waiter = getSession(state, turn)
  return listChildren(state, turn)
    .filter((id) => {
      const row = getRow(state, id)
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
        (next) => ({ ...next, aw: sortSet([...next.aw, id]) }),
      )
    })
}

function unwaits(world: World, state: State, [node, turn]: Driver): ProtocolStep[] {
  return state.aw
    .filter((id) => getRow(state, id).par === turn)
    .map((id) => {
      const event: Event = {
        type: 'wait.ended',
        session: sessionId(getSession(state, turn)),
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

function finishes(world: World, state: State, driver: Driver): ProtocolStep[] {
  const [node, turn, epoch] = driver
  const blocked = listChildren(state, turn).some(
    (id) => getRow(state, id).call === 'pending' && (!getRow(state, id).bg || state.aw.includes(id)),
  )
  return blocked
    ? []
    : [
        recordEnd(world, state, `Finish(${node},${turn},${epoch})`, node, turn, 'completed', (next) =>
          leave(next, driver),
        ),
      ]
}

function stops(world: World, state: State, driver: Driver): ProtocolStep[] {
  const [node, turn, epoch] = driver
  const { stop } = getRow(state, turn)
  if (stop === 'no' || !state.seen.some((other) => sameDriver(other, driver))) return []
  return [
    recordEnd(world, state, `Stop(${node},${turn},${epoch})`, node, turn, stop, (next) =>
      leave(next, driver),
    ),
  ]
}

function orphans(world: World, state: State, ender: Driver): ProtocolStep[] {
  const [node, turn, epoch] = ender
  const { stop } = getRow(state, turn)
  if (stop === 'no') return []
  return [
    recordEnd(world, state, `Orphan(${node},${turn},${epoch})`, node, turn, stop, (next) =>
      leave(next, ender),
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
