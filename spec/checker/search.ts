/**
 * A small explicit-state model checker: breadth-first search, invariants, and leads-to under weak fairness.
 * An action's name with its arguments is the unit of fairness.
 */
export type Step<S> = { readonly action: string; readonly next: S }

export type Model<S> = {
  readonly init: S
  /** Every step that the model can take; one that changes nothing may be left out. */
  steps(state: S): Iterable<Step<S>>
  /** Equal states have equal keys. */
  key(state: S): string
}

export type LeadsTo<S> = {
  readonly name: string
  readonly from: (state: S) => boolean
  readonly to: (state: S) => boolean
}

export type Checks<S> = {
  readonly invariants: Readonly<Record<string, (state: S) => boolean>>
  readonly leadsTo: readonly LeadsTo<S>[]
  readonly weaklyFair: (action: string) => boolean
  readonly statesMax: number
}

export type Violation = {
  readonly property: string
  /** Actions from the first state to the bad one, or into the bad loop. */
  readonly path: readonly string[]
  /** For leads-to: actions of the loop that never reaches its goal; empty is standing still. */
  readonly loop: readonly string[]
}

export type Result = {
  readonly states: number
  readonly edges: number
  readonly complete: boolean
  readonly violation: Violation | null
}

type Edge = { to: number; action: number }

type Graph<S> = { states: S[]; parent: number[]; via: number[]; out: Edge[][]; names: string[] }

export function search<S>(model: Model<S>, checks: Checks<S>): Result {
  const graph: Graph<S> = { states: [], parent: [], via: [], out: [], names: [] }
  const ids = new Map<string, number>()
  const actions = new Map<string, number>()
  const invariants = Object.entries(checks.invariants)
  let edges = 0
  let bad: Violation | null = null

  const getAction = (name: string): number => {
    const known = actions.get(name)
    if (known !== undefined) return known
    actions.set(name, graph.names.length)
    return graph.names.push(name) - 1
  }
  const add = (state: S, from: number, action: number): number => {
    const key = model.key(state)
    const known = ids.get(key)
    if (known !== undefined) return known
    const id = graph.states.push(state) - 1
    ids.set(key, id)
    graph.parent.push(from)
    graph.via.push(action)
    const broken = invariants.find(([, holds]) => !holds(state))
    if (broken !== undefined) bad ??= { property: broken[0], path: pathTo(graph, id), loop: [] }
    return id
  }

  add(model.init, -1, -1)
  let head = 0
  for (; head < graph.states.length && bad === null && graph.states.length <= checks.statesMax; head += 1) {
    const mine: Edge[] = []
    for (const step of model.steps(graph.states[head] as S)) {
      const action = getAction(step.action)
      const to = add(step.next, head, action)
      edges += 1
      if (to !== head) mine.push({ to, action })
    }
    graph.out.push(mine)
  }
  const complete = head === graph.states.length
  if (bad === null && complete) bad = firstLeadsTo(graph, checks)
  return { states: graph.states.length, edges, complete, violation: bad }
}

function pathTo<S>(graph: Graph<S>, id: number): string[] {
  const path: string[] = []
  for (let at = id; (graph.parent[at] ?? -1) >= 0; at = graph.parent[at] as number)
    path.push(graph.names[graph.via[at] as number] as string)
  return path.reverse()
}

function firstLeadsTo<S>(graph: Graph<S>, checks: Checks<S>): Violation | null {
  const fair = graph.names.map((name) => checks.weaklyFair(name))
  for (const property of checks.leadsTo) {
    const violation = leadsTo(graph, property, fair)
    if (violation !== null) return violation
  }
  return null
}

/** A counterexample is a path to a from-state, then a fair loop that never meets a to-state. */
function leadsTo<S>(graph: Graph<S>, property: LeadsTo<S>, fair: readonly boolean[]): Violation | null {
  const { states, out, names } = graph
  const open = states.map((state) => !property.to(state))
  const live = new Uint8Array(states.length)
  const came = new Int32Array(states.length).fill(-1)
  const cameBy = new Int32Array(states.length).fill(-1)
  const queue: number[] = []
  states.forEach((state, id) => {
    if (open[id] !== true || !property.from(state)) return
    live[id] = 1
    queue.push(id)
  })
  for (let at = 0; at < queue.length; at += 1) {
    const id = queue[at] as number
    for (const edge of out[id] as Edge[]) {
      if (open[edge.to] !== true || live[edge.to] === 1) continue
      live[edge.to] = 1
      came[edge.to] = id
      cameBy[edge.to] = edge.action
      queue.push(edge.to)
    }
  }
  const loop = components(out, (id) => live[id] === 1).find((members) => staysFair(out, members, fair))
  if (loop === undefined) return null
  const tail: string[] = []
  let at = loop[0] as number
  for (; (came[at] as number) >= 0; at = came[at] as number) tail.push(names[cameBy[at] as number] as string)
  const inside = new Set(loop)
  const turns =
    loop.length === 1
      ? []
      : loop.flatMap((id) =>
          (out[id] as Edge[])
            .filter((edge) => inside.has(edge.to))
            .map((edge) => names[edge.action] as string),
        )
  return {
    property: property.name,
    path: [...pathTo(graph, at), ...tail.reverse()],
    loop: [...new Set(turns)],
  }
}

/** Weak fairness: each fair action is disabled somewhere in the loop, or taken in it. */
function staysFair(out: readonly Edge[][], members: readonly number[], fair: readonly boolean[]): boolean {
  const inside = new Set(members)
  const need = new Set(
    (out[members[0] as number] as Edge[])
      .filter((edge) => fair[edge.action] === true)
      .map((edge) => edge.action),
  )
  for (const id of members) {
    if (need.size === 0) return true
    const edges = out[id] as Edge[]
    const enabled = new Set(edges.map((edge) => edge.action))
    for (const action of need) if (!enabled.has(action)) need.delete(action)
    for (const edge of edges) if (inside.has(edge.to)) need.delete(edge.action)
  }
  return need.size === 0
}

/**
 * Strongly connected components of the chosen states (Tarjan, without recursion). A single state counts: it
 * may stand still.
 */
function components(out: readonly Edge[][], chosen: (id: number) => boolean): number[][] {
  const size = out.length
  const index = new Int32Array(size).fill(-1)
  const low = new Int32Array(size)
  const on = new Uint8Array(size)
  const stack: number[] = []
  const found: number[][] = []
  let counter = 0
  const enter = (id: number, work: [number, number][]): void => {
    index[id] = low[id] = counter++
    stack.push(id)
    on[id] = 1
    work.push([id, 0])
  }
  const leave = (id: number): void => {
    if (low[id] !== index[id]) return
    const members: number[] = []
    for (let at = -1; at !== id;) {
      at = stack.pop() as number
      on[at] = 0
      members.push(at)
    }
    found.push(members)
  }
  for (let root = 0; root < size; root += 1) {
    if (!chosen(root) || (index[root] as number) >= 0) continue
    const work: [number, number][] = []
    enter(root, work)
    while (work.length > 0) {
      const top = work[work.length - 1] as [number, number]
      const [id] = top
      const edge = (out[id] as Edge[])[top[1]]
      if (edge === undefined) {
        work.pop()
        const above = work[work.length - 1]
        if (above !== undefined) low[above[0]] = Math.min(low[above[0]] as number, low[id] as number)
        leave(id)
        continue
      }
      top[1] += 1
      if (!chosen(edge.to)) continue
      if ((index[edge.to] as number) < 0) enter(edge.to, work)
      else if (on[edge.to] === 1) low[id] = Math.min(low[id] as number, index[edge.to] as number)
    }
  }
  return found
}
