/**
 * A small world on virtual time: the real runtime on the real store in memory, with agents that are
 * functions. Time moves only when nothing else can happen.
 */
import { readAll } from '../../src/runtime/kernel/scope.ts'
import type { z } from 'zod'
import { demoAgent } from '../../src/adapters/scripted/demo-agent.ts'
import { inlineSchemas } from '../../src/adapters/schemas/schemas.ts'
import { scriptedDriver } from '../../src/adapters/scripted/drive.ts'
import type { ScriptedFunction } from '../../src/adapters/scripted/run-function.ts'
import { loadTokenizer } from '../../src/adapters/tokens/tokenizer.ts'
import { Agent } from '../../src/model/agent.ts'
import { boundaryFrom } from '../../src/model/frame.ts'
import type { EventOf, EventType, StoredEvent } from '../../src/model/event.ts'
import type { Json } from '../../src/model/json.ts'
import { Limits } from '../../src/model/limits.ts'
import type { UntrustedProject } from '../../src/model/untrusted.ts'
import { agentBook } from '../../src/runtime/sessions/agent-book.ts'
import { openDesks, type Desks } from '../../src/runtime/desk/desk.ts'
import { startNode, type Node } from '../../src/runtime/node.ts'
import type { Agents, Clock, Driver, Schemas, Tool } from '../../src/runtime/kernel/ports.ts'
import { startRun, type Run, type RunResult } from '../../src/runtime/sessions/run.ts'
import type { SendRequest } from '../../src/runtime/mail/send-facts.ts'
import type { LogSync } from '../../src/store/log-sync.ts'
import { sqliteStore, type SqliteStore } from '../../src/store/sqlite.ts'
import { doorTools, standardTools } from '../../src/tools/standard.ts'
import { describeWorkspace } from '../../src/tools/describe-workspace.ts'
import { exchangeOf, type Exchange } from './askers.ts'

export type AgentSpec = Partial<Omit<z.input<typeof Agent>, 'name' | 'driver'>> & {
  script?: ScriptedFunction
  driver?: Driver
}

type Sleeper = { at: number; order: number; wake: () => void }

export type VirtualClock = Clock & {
  /** Sets the wall clock back or forward; no time passes. */
  jump(ms: number): void
  /** Moves to the nearest sleeper and wakes it; false if nobody sleeps. */
  tick(): boolean
}

export function virtualClock(start = 1_800_000_000_000): VirtualClock {
  let now = start
  let jumped = 0
  let order = 0
  const sleepers = new Set<Sleeper>()
  return {
    now: () => now + jumped,
    elapsed: () => now,
    jump: (ms) => void (jumped += ms),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted === true) return reject(signal.reason)
        const sleeper: Sleeper = { at: now + Math.max(0, ms), order: order++, wake: () => resolve() }
        sleepers.add(sleeper)
        signal?.addEventListener(
          'abort',
          () => {
            if (sleepers.delete(sleeper)) reject(signal.reason)
          },
          { once: true },
        )
      }),
    tick() {
      const next = [...sleepers].sort((a, b) => a.at - b.at || a.order - b.order)[0]
      if (next === undefined) return false
      sleepers.delete(next)
      now = Math.max(now, next.at)
      next.wake()
      return true
    },
  }
}

export type World = {
  clock: VirtualClock
  store: SqliteStore
  nodes: Node[]
  node: Node
  /** Sends a task to a new session of an agent, or to a session. */
  ask(
    to: string,
    task: string,
    options?: {
      session?: `ses_${string}`
      timeoutMs?: number
      maxTokens?: number
      maxUsd?: number
      cwd?: string
    },
    node?: Node,
  ): Run
  /** Lets time pass until the promise settles. */
  until<T>(promise: PromiseLike<T>): Promise<T>
  run(to: string, task: string, options?: Parameters<World['ask']>[2]): Promise<RunResult>
  /** Lets everything happen that can happen without time passing. */
  rest(): Promise<void>
  pass(ms: number): Promise<void>
  addNode(): Promise<Node>
  events<T extends EventType>(type: T): Promise<(StoredEvent & { event: EventOf<T> })[]>
  faults: unknown[]
  desks: Desks
  exchange: Exchange
}

export type WorldOptions = {
  agents: Record<string, AgentSpec>
  limits?: Partial<Limits>
  tools?: readonly Tool[]
  subagent?: string
  release?: 'agents' | 'person'
  schemas?: Schemas
  summarise?: Parameters<typeof startNode>[0]['summarise']
  asks?: boolean
  store?: SqliteStore
  clock?: VirtualClock
  /** Whether somebody runs the sessions of an agent. */
  isThere?: (agent: string) => boolean
  /** Whether an agent is still configured. */
  isKnown?: (agent: string) => boolean
  /** Configurations that were found and are not used. */
  untrusted?: readonly UntrustedProject[]
  unavailable?: (agent: string) => { why: string; cure: string } | null
}

/** A disk whose time does not pass either: a real thread would be later than anything on the virtual clock. */
export const syncedAtOnce = (): LogSync => ({ sync: () => Promise.resolve(), close: () => Promise.resolve() })

export async function world(options: WorldOptions): Promise<World> {
  const clock = options.clock ?? virtualClock()
  const store = options.store ?? sqliteStore({ directory: ':memory:', now: () => clock.now() })
  const tokenizer = await loadTokenizer()
  // At once, whatever the length: slices are real time, and here time is virtual.
  const count = (text: string): number => tokenizer(text)
  const faults: unknown[] = []
  let suffix = 0
  const ids = {
    next: () => `${clock.now().toString(36)}${(suffix++).toString(36).padStart(6, '0')}`,
    boundary: () => boundaryFrom(suffix * 7919),
  }
  const all = agentsOf(options.agents, clock, count)
  const configured = {
    ...all,
    get: (name: string) => (options.isKnown?.(name) === false ? undefined : all.get(name)),
    untrusted: () => options.untrusted ?? [],
    whyUnavailable: ({ name }: Agent) => options.unavailable?.(name) ?? null,
  }
  const made = scriptedDriver(demoAgent, { clock, count })
  const agents = agentBook(configured, {
    define: (name, { title, description, prompt, tools }) =>
      Agent.parse({ name, title, description, prompt, tools, driver: 'demo', allowSubAgentCalls: true }),
    driver: () => made,
    isThere: ({ name }) => options.isThere?.(name) ?? true,
  })
  await agents.load(store.lists)
  store.onHint((hints) => hints.forEach((hint) => agents.apply(hint)))
  const tools = [...standardTools(count, ['note', 'path', 'diff', 'json']), ...(options.tools ?? [])]
  const start = (): Promise<Node> =>
    startNode({
      store,
      lists: store.lists,
      clock,
      ids,
      agents,
      tools: { of: async () => tools },
      limits: Limits.parse(options.limits ?? {}),
      count,
      summarise: options.summarise ?? (async () => null),
      describeWorkspace,
      schemas: options.schemas ?? inlineSchemas,
      subagent: options.subagent ?? null,
      release: options.release ?? 'agents',
      asks: options.asks ?? false,
      report: (fault) => faults.push(fault),
    })
  const nodes: Node[] = []
  const node = await start()
  nodes.push(node)
  const desks = openDesks({
    exportLog: () => Promise.reject(new Error('nothing is exported here')),
    runtime: node.runtime,
    builtIn: [],
    book: agents,
    toolNames: tools.map((tool) => tool.name),
    providers: [],
    doorTools: tools.filter((tool) => doorTools.includes(tool.name)),
    cwd: process.cwd(),
  })
  return {
    ...timeOf(clock),
    clock,
    store,
    nodes,
    node,
    faults,
    desks,
    exchange: exchangeOf(desks),
    ...verbsOf(node, store, clock),
    addNode: async () => {
      const more = await start()
      nodes.push(more)
      return more
    },
  }
}

/** Long enough for what is under way to come to rest: group commits and file reads are macrotasks. */
async function rest(): Promise<void> {
  for (let hop = 0; hop < 12; hop += 1) await new Promise<void>((resolve) => setImmediate(resolve))
}

function timeOf(clock: VirtualClock): Pick<World, 'rest' | 'until' | 'pass'> {
  return {
    rest,
    async until(promise) {
      let settled = false
      const done = (): void => {
        settled = true
      }
      promise.then(done, done)
      for (let ticks = 0; !settled; ticks += 1) {
        await rest()
        if (!settled && (ticks > 50_000 || !clock.tick()))
          throw new Error('nothing is left that could settle it')
      }
      return promise
    },
    async pass(ms) {
      const end = clock.elapsed() + ms
      let over = false
      void clock.sleep(ms).then(() => (over = true))
      while (!over && clock.elapsed() <= end) {
        await rest()
        clock.tick()
      }
      await rest()
    },
  }
}

function verbsOf(node: Node, store: SqliteStore, clock: VirtualClock): Pick<World, 'ask' | 'run' | 'events'> {
  const ask: World['ask'] = (to, task, options = {}, on = node) => {
    const target: SendRequest['to'] =
      options.session === undefined
        ? { agent: to, cwd: options.cwd ?? process.cwd() }
        : { session: options.session }
    return startRun(on.runtime, {
      to: target,
      text: task,
      timeoutMs: options.timeoutMs,
      maxTokens: options.maxTokens,
      maxUsd: options.maxUsd,
    })
  }
  return {
    ask,
    run: (to, task, options) => timeOf(clock).until(ask(to, task, options)),
    async events(type) {
      return (await readAll(store, 0, { types: [type] })) as never
    },
  }
}

function agentsOf(specs: Record<string, AgentSpec>, clock: Clock, count: (text: string) => number): Agents {
  const agents = new Map<string, Agent>()
  const drivers = new Map<string, Driver>()
  for (const [name, { script, driver, ...rest }] of Object.entries(specs)) {
    agents.set(
      name,
      Agent.parse({ allowSubAgentCalls: true, tools: ['*'], ...rest, name, driver: 'scripted' }),
    )
    drivers.set(name, driver ?? scriptedDriver(script ?? (() => 'ok'), { clock, count }))
  }
  const names = [...agents.keys()].sort()
  return {
    get: (name) => agents.get(name),
    names: () => names,
    driver: (agent) => drivers.get(agent.name) as Driver,
  }
}

export type Answer = { ok: boolean; value: Record<string, Json> }

/** The result of a calling tool, as the caller's model would read it. */
export const valueOf = (answer: { value: Json }): Record<string, Json> => answer.value as Record<string, Json>
