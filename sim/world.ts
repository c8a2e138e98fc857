/**
 * The simulated world: several real nodes on one real store in memory, on virtual time, with the faults of a
 * plan.
 */
import { inlineSchemas } from '../src/adapters/schemas/schemas.ts'
import type { Event } from '../src/model/event.ts'
import { boundaryFrom } from '../src/model/frame.ts'
import type { SessionId } from '../src/model/id.ts'
import type { Limits } from '../src/model/limits.ts'
import { startNode, type Node } from '../src/runtime/node.ts'
import type { RuntimePorts } from '../src/runtime/kernel/runtime.ts'
import type { Tool } from '../src/runtime/kernel/ports.ts'
import { sqliteStore, type SqliteStore } from '../src/store/sqlite.ts'
import { buffer } from '../src/tools/buffer.ts'
import { callAgentTool } from '../src/tools/call-agent.ts'
import { sendMessage } from '../src/tools/send-message.ts'
import { subAgentTool } from '../src/tools/sub-agent.ts'
import { subagentTool } from '../src/tools/subagent.ts'
import { waitForCallTool } from '../src/tools/wait-for-call.ts'
import { agentNames, agents, makeLimits, getMainSession } from './agents.ts'
import type { Bug } from './bug.ts'
import { Checker } from './checker.ts'
import { Clients } from './clients.ts'
import { countWords } from './count-words.ts'
import { scriptDriver } from './driver.ts'
import { describeFault, Host, InjectedFault } from './host.ts'
import { count } from './ledger.ts'
import { NodeStore, type Shared } from './node-store.ts'
import { clientSessions } from './mail-work.ts'
import type { Fault, Plan } from './plan.ts'
import { Scheduler, startAt } from './scheduler.ts'

const note: Tool = {
  name: 'note',
  effect: 'write',
  calling: false,
  describe: () => ({ name: 'note', description: 'Writes something down.', input: { type: 'object' } }),
  run: async () => ({ ok: true, value: 'noted' }),
}
const tools: readonly Tool[] = [
  note,
  sendMessage,
  buffer,
  subAgentTool(countWords),
  callAgentTool(countWords),
  subagentTool(countWords, ['note']),
  waitForCallTool(countWords),
]

export class World {
  readonly scheduler: Scheduler
  readonly store: SqliteStore
  readonly checker: Checker
  readonly counts = new Map<string, number>()
  readonly #plan: Plan
  readonly #limits: Limits
  readonly #hosts: Host[]
  readonly #nodes: (Node | null)[]
  readonly #shared: Shared
  readonly #clients: Clients
  #faultsLeft: number
  rerunsMax = 0

  constructor(plan: Plan, bug: Bug | null) {
    this.#plan = plan
    this.scheduler = new Scheduler(plan.seed)
    this.#limits = makeLimits(plan.limits)
    this.store = sqliteStore({ directory: ':memory:', now: () => this.scheduler.now })
    this.#hosts = Array.from(
      { length: plan.nodes },
      (_, index) => new Host(index, plan.seed, this.scheduler, (what) => count(this.counts, what)),
    )
    this.#nodes = this.#hosts.map(() => null)
    this.checker = new Checker(this.store, this.#limits, () => this.scheduler.now)
    const { checker } = this
    this.#shared = {
      store: this.store,
      scheduler: this.scheduler,
      marks: checker.marks,
      writers: new WeakMap(),
      bug,
      latencyMs: plan.latencyMs,
      fail: checker.fail,
      check: checker.check,
      rerun: (reruns) => this.#reran(reruns),
      beat: (node, until) => void checker.ledger.leases.set(node, until),
    }
    this.#clients = new Clients(plan, this)
    this.#faultsLeft = plan.faults.length
  }

  findNode(index: number): { host: Host; node: Node | null } {
    const host = this.#hosts[index % this.#hosts.length] as Host
    return { host, node: this.#nodes[host.index] ?? null }
  }

  #reran(reruns: number): void {
    if (reruns > 0) count(this.counts, 'keys.rerun')
    this.rerunsMax = Math.max(this.rerunsMax, reruns)
    if (reruns > 5) this.checker.fail(`R1: a transaction ran ${reruns + 1} times before it had its keys`)
  }

  /** Opens the sessions, starts the nodes, and schedules what clients ask and what breaks. */
  async begin(): Promise<void> {
    for (const agent of agentNames)
      await this.#createSession(getMainSession(agent), agent, 'persistent', agent)
    for (const session of clientSessions) await this.#createSession(session, 'external', 'external', '')
    this.checker.skip()
    for (const host of this.#hosts) this.#start(host)
    await this.scheduler.settle()
    this.#clients.schedule()
    for (const fault of this.#plan.faults)
      this.scheduler.at(startAt + fault.at, `fault ${fault.kind}`, () => this.#inject(fault))
  }

  async #createSession(
    session: SessionId,
    agent: string,
    kind: 'persistent' | 'external',
    title: string,
  ): Promise<void> {
    const created: Event = {
      type: 'session.created',
      session,
      turn: null,
      agent,
      kind,
      parent: null,
      cwd: '/',
      title,
      model: null,
      flow: null,
    }
    await this.store.transact([`session:${session}`], async (tx) => tx.append(created))
  }

  #start(host: Host): void {
    host.up = true
    host.recover()
    const life = host.life
    const name = `n${host.index}-${life}`
    const clock = host.clock(life)
    const driver = scriptDriver(this.#plan, clock, {
      count: (what) => count(this.counts, what),
      result: (call, outcome) => this.checker.checkAnswered(call, outcome),
    })
    const ports: RuntimePorts = {
      store: new NodeStore(this.#shared, host, `node_${name}-1`),
      lists: this.#shared.store.lists,
      clock,
      ids: this.#makeIds(host, name),
      agents: { get: (agent) => agents.get(agent), names: () => agentNames, driver: () => driver },
      tools: { of: async () => tools },
      limits: this.#limits,
      count: countWords,
      summarise: async () => null,
      describeWorkspace: async () => ({ text: '' }),
      schemas: inlineSchemas,
      subagent: null,
      asks: false,
      report: (fault) => this.#reported(fault),
    }
    void startNode(this.#shared.bug?.ports?.(ports) ?? ports).then(
      (node) => {
        if (host.life === life) this.#nodes[host.index] = node
      },
      (error: unknown) => {
        // A node that cannot reach the store at its start is started again, as its host's keeper would.
        if (!(error instanceof InjectedFault))
          this.checker.fail(`fault: a node did not start: ${String(error)}`)
        this.scheduler.after(500, `start ${host.index}`, () => {
          if (host.life === life && host.up) this.#start(host)
        })
      },
    )
  }

  /** The first id names the node; later ones sort by time. */
  #makeIds({ index, life }: Host, name: string): RuntimePorts['ids'] {
    let serial = 0
    return {
      next: () => {
        serial += 1
        if (serial === 1) return `${name}-1`
        return `${this.scheduler.now.toString(36)}-${index}-${life}-${serial.toString(36).padStart(4, '0')}`
      },
      boundary: () => boundaryFrom(serial * 7919 + life),
    }
  }

  #reported(fault: unknown): void {
    if (fault instanceof InjectedFault) return count(this.counts, 'reported')
    this.checker.fail(`fault: ${describeFault(fault)}`)
  }

  #inject(fault: Fault): void {
    const { host } = this.findNode(fault.node)
    if (!host.up) return void (this.#faultsLeft -= 1)
    if (fault.kind === 'commit') {
      this.#faultsLeft -= 1
      host.failing = { left: fault.count, how: fault.how }
      return host.markUnwell()
    }
    const after = (run: () => void): void =>
      void this.scheduler.after(fault.ms, `heal ${fault.kind}`, () => {
        this.#faultsLeft -= 1
        run()
      })
    if (fault.kind === 'crash') {
      count(this.counts, 'crash')
      this.#nodes[host.index] = null
      host.crash()
      return after(() => {
        count(this.counts, 'restart')
        this.#start(host)
      })
    }
    if (fault.kind === 'freeze') {
      count(this.counts, 'freeze')
      host.freeze()
      return after(() => host.thaw())
    }
    host.open(fault)
    after(() => host.close(fault))
  }

  /** Nothing more is going to be asked or to break. */
  get isCalm(): boolean {
    return this.#faultsLeft === 0 && this.#clients.isDone
  }

  /** Since when some node has been well without a pause; infinite if none is. */
  get wellSince(): number {
    return Math.min(...this.#hosts.map((host) => host.wellSince))
  }
}
