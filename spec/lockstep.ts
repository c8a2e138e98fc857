/**
 * The TypeScript steps and the TLA+ text must allow the same: their successors are compared state by state
 * along random walks.
 */
import { rowPlain } from './checker/fold.ts'
import { callModel } from './checker/steps.ts'
import {
  listTurns,
  makeNames,
  optionsPlain,
  getRow,
  type Options,
  type Row,
  type State,
} from './checker/state.ts'
import { configText, protocolText, listSuccessors } from './tla.ts'

export type Lockstep = { states: number; edges: number; difference: string | null }

/** What a walk may do; the same text is given to both sides. */
export const lockstepOptions: Options = {
  ...optionsPlain,
  agents: 3,
  nodes: 2,
  turnsMax: 4,
  rootsMax: 2,
  depthMax: 2,
  budget: 2,
  faultsMax: 2,
  epochMax: 2,
  faults: ['crash', 'lapse', 'forget'],
  kinds: ['fresh', 'kept', 'background'],
}

export const stepsPerWalk = 24

/** Random, but the same for the same seed. */
export function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 4294967296) * below)
  }
}

export function lockstep(seed: number, statesWanted: number, options: Options = lockstepOptions): Lockstep {
  const model = callModel(options)
  const text = protocolText()
  const config = renderConfig(options)
  const random = createRandom(seed)
  const seen = new Set<string>()
  let edges = 0
  while (seen.size < statesWanted) {
    let state = model.init
    for (let step = 0; step < stepsPerWalk && seen.size < statesWanted; step += 1) {
      const steps = model.steps(state)
      const mine = new Set(steps.map(({ next }) => canonicalize(toTla(options, next))))
      if (!seen.has(model.key(state))) {
        seen.add(model.key(state))
        const theirs = new Set(listSuccessors(text, config, toTla(options, state)).map(canonicalize))
        edges += mine.size
        const difference = findDifference(mine, theirs)
        if (difference !== null)
          return {
            states: seen.size,
            edges,
            difference: `after ${canonicalize(toTla(options, state))}: ${difference}`,
          }
      }
      const chosen = steps[random(steps.length)]
      if (chosen === undefined) break
      state = chosen.next
    }
  }
  return { states: seen.size, edges, difference: null }
}

function findDifference(mine: ReadonlySet<string>, theirs: ReadonlySet<string>): string | null {
  const onlyMine = [...mine].find((state) => !theirs.has(state))
  const onlyTheirs = [...theirs].find((state) => !mine.has(state))
  if (onlyMine === undefined && onlyTheirs === undefined) return null
  return `only TypeScript goes to ${onlyMine ?? 'nothing'}; only TLA+ goes to ${onlyTheirs ?? 'nothing'}`
}

/** The configuration Waits with the constants of these options. */
export function renderConfig(options: Options): string {
  const set = (items: readonly string[]): string => `{${items.join(', ')}}`
  const constants: Record<string, string> = {
    Agents: set(makeNames('a', options.agents)),
    Nodes: set(makeNames('n', options.nodes)),
    MaxTurns: String(options.turnsMax),
    MaxRoots: String(options.rootsMax),
    MaxDepth: String(options.depthMax),
    Budget: String(options.budget),
    MaxFaults: String(options.faultsMax),
    MaxEpoch: String(options.epochMax),
    Faults: set(options.faults.map((fault) => `"${fault}"`)),
    Kinds: set(options.kinds.map((kind) => `"${kind}"`)),
    Timeouts: String(options.timeouts).toUpperCase(),
    Cancels: String(options.cancels).toUpperCase(),
  }
  return configText('calls', 'Waits')
    .replace(/^INVARIANT .*\n/gm, '')
    .replaceAll(/^ {2}(\w+) = .*$/gm, (line, name: string) =>
      name in constants ? `  ${name} = ${constants[name]}` : line,
    )
}

const rowFree: Row = { ...rowPlain, st: 'ended' }

/**
 * A state in the JSON of tla-checker: functions over 1..n are tuples, sets are arrays, model values are
 * named.
 */
export function toTla(options: Options, state: State): Record<string, unknown> {
  const model = (name: string) => ({ __model: name })
  const tuple = (items: readonly unknown[]) => ({ __tuple: items })
  const ids = Array.from({ length: options.turnsMax }, (_, index) => index + 1)
  const used = new Set(listTurns(state))
  const each = (value: (row: Row, id: number, free: boolean) => unknown) =>
    tuple(ids.map((id) => value(used.has(id) ? getRow(state, id) : rowFree, id, !used.has(id))))
  const drivers = (of: State['run']) => of.map(([node, turn, epoch]) => tuple([model(node), turn, epoch]))
  return {
    st: each((row, _, free) => (free ? 'free' : row.st)),
    ses: each((row, id, free) => (free ? 0 : row.ses === null ? id : model(row.ses))),
    path: each((row) => tuple(row.path.map(model))),
    par: each((row) => row.par),
    bg: each((row) => row.bg),
    key: each((row) => row.key),
    call: each((row) => row.call),
    ends: each((row) => row.ends),
    stop: each((row) => row.stop),
    node: each((row) => (row.node === null ? 0 : model(row.node))),
    epoch: each((row) => row.epoch),
    max: each((row) => row.max),
    used: each((row) => row.used),
    below: each((row) => row.below),
    pos: each((row) => row.pos),
    waits: state.waits,
    run: drivers(state.run),
    seen: drivers(state.seen),
    aw: state.aw,
    down: state.down.map(model),
    lapsed: state.lapsed.map(model),
    faults: state.faults,
    torn: state.torn,
  }
}

/** One text for one value; sets are sorted. */
function canonicalize(value: unknown): string {
  if (Array.isArray(value)) return `{${value.map(canonicalize).sort().join(',')}}`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const fields = value as Record<string, unknown>
  if ('__tuple' in fields) return `<${(fields['__tuple'] as unknown[]).map(canonicalize).join(',')}>`
  if ('__model' in fields) return `#${String(fields['__model'])}`
  return `(${Object.keys(fields)
    .sort()
    .map((name) => `${name}=${canonicalize(fields[name])}`)
    .join(';')})`
}
