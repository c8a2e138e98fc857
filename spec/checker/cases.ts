/**
 * What our own checker explores, and what it must say. A case with a `twin` has the constants of that TLA+
 * configuration, and must find as many states.
 * A mutant has one guard switched off and must break the property named after it.
 */
import { fairness, makeInvariants, makeLeadsTo } from './properties.ts'
import { search, type Result } from './search.ts'
import { optionsPlain, type Fault, type Guard, type Options, type State } from './state.ts'
import { callModel } from './steps.ts'

type Liveness = keyof ReturnType<typeof makeLeadsTo>

export type Case = {
  name: string
  options: Options
  live: readonly Liveness[]
  fair: keyof typeof fairness
  expect: string
  twin: string | null
}

const statesMax = 400_000
const every: readonly Fault[] = ['crash', 'lapse', 'forget']
const two: Partial<Options> = {
  agents: 2,
  nodes: 2,
  turnsMax: 2,
  rootsMax: 1,
  depthMax: 1,
  epochMax: 2,
  faultsMax: 1,
  faults: every,
}
const rings: Partial<Options> = {
  agents: 2,
  turnsMax: 4,
  rootsMax: 2,
  depthMax: 1,
  timeouts: false,
  cancels: false,
}

const holds = (
  name: string,
  more: Partial<Options>,
  live: readonly Liveness[] = [],
  fair: Case['fair'] = 'none',
  twin: string | null = null,
): Case => ({ name, options: { ...optionsPlain, ...more }, live, fair, expect: 'ok', twin })

const same = (twin: string, more: Partial<Options>): Case => holds(`${twin} (twin)`, more, [], 'none', twin)

const mutant = (
  guard: Guard,
  expect: string,
  more: Partial<Options>,
  live: readonly Liveness[] = [],
  fair: Case['fair'] = 'none',
): Case => ({
  name: `without ${guard}`,
  options: { ...optionsPlain, ...more, [guard]: false },
  live,
  fair,
  expect,
  twin: null,
})

export const cases: readonly Case[] = [
  same('Waits', {
    agents: 2,
    turnsMax: 3,
    rootsMax: 2,
    depthMax: 1,
    kinds: ['background', 'kept'],
    timeouts: false,
  }),
  same('Stale', { ...two, faults: ['lapse'], kinds: ['fresh'], cancels: false }),
  same('Crash', { ...two, faults: ['crash'], kinds: ['kept'] }),
  same('Forget', { ...two, faults: ['forget'], kinds: ['fresh'] }),
  same('Held', {
    agents: 2,
    turnsMax: 3,
    rootsMax: 1,
    depthMax: 1,
    budget: 2,
    kinds: ['kept'],
    cancels: false,
  }),

  holds('three agents, two roots', { agents: 3, turnsMax: 3, rootsMax: 2, depthMax: 2 }),
  holds('two roots, every ring', { ...rings, agents: 3, depthMax: 2, kinds: ['kept'] }),
  holds('three hops, four agents', {
    agents: 4,
    turnsMax: 4,
    rootsMax: 1,
    depthMax: 3,
    kinds: ['fresh'],
    timeouts: false,
  }),
  holds('three agents, two nodes, a crash', {
    agents: 3,
    nodes: 2,
    turnsMax: 3,
    rootsMax: 1,
    depthMax: 2,
    epochMax: 2,
    faultsMax: 1,
    faults: ['crash'],
    kinds: ['fresh'],
    cancels: false,
  }),
  holds('a budget, three agents', {
    agents: 3,
    turnsMax: 3,
    rootsMax: 1,
    depthMax: 2,
    budget: 2,
    kinds: ['fresh'],
    cancels: false,
  }),

  holds('three hops, deadlines and cancels', {
    agents: 4,
    turnsMax: 4,
    rootsMax: 1,
    depthMax: 3,
    kinds: ['fresh'],
  }),
  holds('three agents, two nodes, a lapse', {
    agents: 3,
    nodes: 2,
    turnsMax: 3,
    rootsMax: 1,
    depthMax: 2,
    epochMax: 2,
    faultsMax: 1,
    faults: ['lapse'],
    kinds: ['fresh'],
    timeouts: false,
    cancels: false,
  }),

  holds('every call ends by its deadline', two, ['CallEventuallyCompletes'], 'clock'),
  holds('a turn that was told to stop ends', two, ['StoppedTurnEnds'], 'sweep'),
  holds('everything comes to rest', two, ['EverythingRests'], 'work'),
  holds(
    'two faults, all of it',
    { ...two, faultsMax: 2, epochMax: 3, kinds: ['kept'] },
    ['CallEventuallyCompletes', 'StoppedTurnEnds', 'EverythingRests'],
    'all',
  ),
  holds('no deadline is needed', rings, ['CallEventuallyCompletes', 'EverythingRests'], 'work'),
  holds(
    'no deadline is needed for waits',
    {
      agents: 3,
      turnsMax: 4,
      rootsMax: 2,
      depthMax: 2,
      kinds: ['background', 'kept'],
      timeouts: false,
      cancels: false,
    },
    ['CallEventuallyCompletes', 'EverythingRests'],
    'work',
  ),

  holds(
    'what the commit did not start is started by the sweep',
    { ...two, rootsMax: 2, StartNext: false },
    ['QueuedEventuallyStarts'],
    'sweep',
  ),

  mutant('CheckCycle', 'NoCycle', { agents: 2, turnsMax: 3 }),
  mutant('CheckDepth', 'DepthBounded', { agents: 3, turnsMax: 3, depthMax: 1 }),
  mutant('CheckGraph', 'NoDeadlock', { ...rings, kinds: ['kept'] }),
  mutant('OwnPending', 'NoOrphan', { agents: 3, turnsMax: 3 }),
  mutant('OneTurn', 'SingleActivationDuringCall', { agents: 2, turnsMax: 2, rootsMax: 2 }),
  mutant('Fence', 'NoStaleCommit', { ...two, faults: ['lapse'] }),
  mutant('EndBelow', 'NoOrphan', { agents: 3, turnsMax: 3 }),
  mutant('FirstWins', 'EndsOnce', { agents: 2, turnsMax: 2 }),
  mutant('KeepHold', 'BudgetKept', { agents: 2, turnsMax: 2, depthMax: 1, budget: 2, kinds: ['kept'] }),
  mutant('Recall', 'NoDouble', {
    ...two,
    turnsMax: 3,
    faults: ['crash'],
    kinds: ['fresh'],
    timeouts: false,
    cancels: false,
  }),
  mutant('OwnWaits', 'WaitsRecorded', {
    agents: 2,
    turnsMax: 3,
    rootsMax: 2,
    kinds: ['background'],
    timeouts: false,
  }),
  mutant('OwnEntry', 'CanBeTold', { ...two, turnsMax: 1, faults: ['lapse'], faultsMax: 2, epochMax: 3 }),
  mutant(
    'Adopt',
    'StoppedTurnEnds',
    { ...two, turnsMax: 1, faults: ['forget'] },
    ['StoppedTurnEnds'],
    'sweep',
  ),
  mutant('StartNext', 'WorkConserved', { agents: 2, turnsMax: 2, rootsMax: 2 }),
  {
    name: 'without any deadline',
    options: { ...optionsPlain, ...two },
    live: ['CallEventuallyCompletes'],
    fair: 'none',
    expect: 'CallEventuallyCompletes',
    twin: null,
  },
  {
    name: 'without any sweep',
    options: { ...optionsPlain, ...two, faults: ['crash'] },
    live: ['StoppedTurnEnds'],
    fair: 'clock',
    expect: 'StoppedTurnEnds',
    twin: null,
  },
  {
    name: 'without a start or a sweep',
    options: { ...optionsPlain, ...two, rootsMax: 2, StartNext: false },
    live: ['QueuedEventuallyStarts'],
    fair: 'clock',
    expect: 'QueuedEventuallyStarts',
    twin: null,
  },
]

/**
 * The properties about tokens say nothing where there is no budget, and where liveness is tried without a
 * start at the end of a turn, something waits until the sweep.
 */
function invariantsFor(
  options: Options,
  live: readonly Liveness[],
): Record<string, (state: State) => boolean> {
  const { BudgetKept, HoldKept, WorkConserved, ...others } = makeInvariants(options)
  const rest = {
    ...others,
    ...(WorkConserved !== undefined && !live.includes('QueuedEventuallyStarts') && { WorkConserved }),
  }
  return options.budget === 0 || BudgetKept === undefined || HoldKept === undefined
    ? rest
    : { ...rest, BudgetKept, ...(options.KeepHold && { HoldKept }) }
}

export function runCase({ options, live, fair }: Case): Result {
  const leads = makeLeadsTo(options)
  return search(callModel(options), {
    invariants: invariantsFor(options, live),
    leadsTo: live.flatMap((name) => leads[name]),
    weaklyFair: (action) => fairness[fair].test(action),
    statesMax,
  })
}
