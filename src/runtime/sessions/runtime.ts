/** The runtime of one node: what all rooms together need, made from its ports. */
import type { StoredEvent } from '../../model/event.ts'
import type { TurnId } from '../../model/id.ts'
import type { Runtime as Below } from '../calls/runtime.ts'
import { createAlarm } from '../kernel/alarm.ts'
import { fewAtOnce } from '../kernel/few-at-once.ts'
import { fewEachRound } from '../kernel/few-each-round.ts'
import { PassingMap } from '../../model/passing-map.ts'
import { createDaySpending } from '../kernel/day-spending.ts'
import { createDrain } from '../kernel/drain.ts'
import type { Driver } from '../kernel/ports.ts'
import type { HigherRooms } from '../kernel/runtime.ts'

/** What clients need beyond the rooms below. */
export type Runtime = Below & {
  /** What clients outside do in their own turns, in place of a driver. */
  readonly clients: Map<TurnId, Driver>
  /** How many clients here wait for a client's turn: the first try, and retries of it. */
  readonly attached: Map<TurnId, number>
  /** What is recorded of turns whose record somebody here waits for, as it is committed. */
  readonly heard: Map<TurnId, StoredEvent[]>
}

type PortName =
  | 'store'
  | 'lists'
  | 'clock'
  | 'ids'
  | 'agents'
  | 'projects'
  | 'tools'
  | 'limits'
  | 'count'
  | 'summarise'
  | 'describeWorkspace'
  | 'schemas'
  | 'subagent'
  | 'asks'
  | 'launcher'
  | 'artifactKinds'
  | 'tells'
  | 'moves'
  | 'sampling'
  | 'release'
  | 'place'
  | 'leaseMs'
  | 'wake'
  | 'report'
/** What a node is given from outside. */
export type RuntimePorts = Pick<Runtime, PortName> &
  Partial<Pick<Runtime, 'continues' | 'opening' | 'beginning'>>

/** Calls of one flow that are being decided: about a millisecond each for others that come in between. */
const openingPerFlowMax = 4
/** Tools of one flow that begin in one round of the event loop: a tenth of a millisecond each. */
const beginningPerFlowMax = 4

export function createRuntime(ports: RuntimePorts, rooms: HigherRooms): Runtime {
  return {
    continues: new Map(),
    opening: fewAtOnce(openingPerFlowMax),
    beginning: fewEachRound(beginningPerFlowMax),
    ...ports,
    node: `node_${ports.ids.next()}`,
    alarm: createAlarm(ports.clock, true, ports.report),
    spending: createDaySpending(),
    kept: new PassingMap(),
    running: new PassingMap(),
    callWaiters: new PassingMap(),
    turnWaiters: new PassingMap(),
    deltaListeners: new Set(),
    claiming: new Map(),
    queued: new Set(),
    starting: new PassingMap(),
    steeredEarly: new Set(),
    atStop: new Set(),
    clients: new Map(),
    attached: new Map(),
    unrecordedWaiters: new Map(),
    traces: new Map(),
    heard: new Map(),
    questionWaiters: new Map(),
    brokenOff: new Set(),
    presence: new Map(),
    readResults: new Set(),
    stopping: new AbortController(),
    drain: createDrain(),
    rooms,
  }
}
