/**
 * The simulated world: several real nodes on one real store in memory, on virtual time, with the faults of a
 * plan.
 */
import { WakeSettings } from '../src/model/wake.ts'
import { inlineSchemas } from '../src/adapters/schemas/schemas.ts'
import type { Event } from '../src/model/event.ts'
import type { SessionId } from '../src/model/id.ts'
import type { Limits } from '../src/model/limits.ts'
import { startNode, type Node } from '../src/runtime/node.ts'
import type { RuntimePorts } from '../src/runtime/sessions/runtime.ts'
import type { Desks } from '../src/runtime/desk/desk.ts'
import type { AgentBook } from '../src/runtime/sessions/agent-book.ts'
import type { SqliteStore } from '../src/store/sqlite.ts'
import { agentNames, makeLimits, getMainSession } from './agents.ts'
import type { Bug } from './bug.ts'
import { Checker } from './checker.ts'
import { Clients } from './clients.ts'
import { countWords } from './count-words.ts'
import { DiskKeeper } from './disk-keeper.ts'
import { DeskClients } from './desk-clients.ts'
import { followAgents, makeBook, openNodeDesks } from './desks.ts'
import { scriptDriver } from './driver.ts'
import { describeFault, Host, isInjected } from './host.ts'
import { makeIds } from './make-ids.ts'
import { count } from './count.ts'
import { NodeStore } from './node-store.ts'
import { clientSessions } from './mail-work.ts'
import { Overlap, rerunsMax } from './overlap.ts'
import type { Fault, Plan } from './plan.ts'
import type { Recorder } from './record-works.ts'
import { Scheduler, startAt } from './scheduler.ts'
import { observe } from './observe.ts'
import type { Shared } from './shared.ts'
import { summarise } from './summarise.ts'
import { makeTools } from './tools.ts'
import { replaceProgram, watchVersions } from './versions.ts'

/** When the views are compared with the log, besides the end of a run. */
const comparedAtMs = [1800, 4600]

export class World {
  readonly scheduler: Scheduler
  readonly store: SqliteStore
  readonly checker: Checker
  readonly counts = new Map<string, number>()
  readonly #plan: Plan
  readonly #limits: Limits
  readonly #hosts: Host[]
  readonly #nodes = new Map<number, { node: Node; desks: Desks }>()
  readonly #book: AgentBook
  readonly #shared: Shared
  #overlap: Overlap | null = null
  readonly #keeper: DiskKeeper
  readonly #clients: Clients
  readonly #deskClients: DeskClients
  #faultsLeft: number
  rerunsMax = 0

  constructor(plan: Plan, bug: Bug | null, recorder: Recorder | null = null) {
    this.#plan = plan
    this.scheduler = new Scheduler(plan.seed)
    this.#limits = makeLimits(plan.limits)
    this.#hosts = Array.from(
      { length: plan.nodes },
      (_, index) => new Host(index, plan, this.scheduler, (what) => count(this.counts, what)),
    )
    const machine = {
      scheduler: this.scheduler,
      hosts: this.#hosts,
      died: () => {
        count(this.counts, 'disk.torn')
        this.#nodes.clear()
      },
      came: () => {
        this.checker.ledger.leases.clear()
        followAgents(this.store, this.#book)
        for (const host of this.#hosts) this.#start(host)
      },
    }
    this.#keeper = new DiskKeeper(
      plan,
      machine,
      () => this.#overlap?.now ?? this.scheduler.wall,
      bug === null,
    )
    this.store = this.#keeper.store
    this.#book = makeBook(this.store)
    count(this.counts, `nodes.${plan.nodes}`)
    this.checker = new Checker(this.store, this.#limits, this.scheduler, plan)
    const { checker, store, scheduler } = this
    if (plan.overlap) this.#overlap = new Overlap({ store, scheduler, seed: plan.seed, fail: checker.fail })
    this.#shared = {
      store: this.store,
      overlap: this.#overlap,
      disk: this.#keeper.disk,
      versions: watchVersions(plan, { now: () => scheduler.wall, fail: checker.fail, bug }),
      scheduler: this.scheduler,
      marks: checker.marks,
      writers: new WeakMap(),
      bug,
      recorder,
      latencyMs: plan.latencyMs,
      fail: checker.fail,
      check: checker.check,
      rerun: (reruns) => this.#reran(reruns),
      beat: (node, beat) => checker.ledger.leases.note(node, beat, scheduler),
    }
    this.#clients = new Clients(plan, this)
    this.#deskClients = new DeskClients(plan, this)
    this.#faultsLeft = plan.faults.length
  }

  findNode(index: number): { host: Host; node: Node | null; desks: Desks | null } {
    const host = this.#hosts[index % this.#hosts.length] as Host
    const { node = null, desks = null } = this.#nodes.get(host.index) ?? {}
    return { host, node, desks }
  }

  #reran(reruns: number): void {
    if (reruns > 0) count(this.counts, 'keys.rerun')
    this.rerunsMax = Math.max(this.rerunsMax, reruns)
    if (reruns > rerunsMax + 1) this.checker.fail(`R1: a transaction ran ${reruns + 1} times for its keys`)
  }

  /** Opens the sessions, starts the nodes, and schedules what clients ask and what breaks. */
  async begin(): Promise<void> {
    for (const agent of agentNames)
      await this.#createSession(getMainSession(agent), agent, 'persistent', agent)
    for (const session of clientSessions) await this.#createSession(session, 'external', 'external', '')
    this.checker.skip()
    this.#shared.recorder?.begin(this.store.db)
    this.#shared.bug?.opened?.(this.store)
    for (const host of this.#hosts) this.#start(host)
    await this.scheduler.settle()
    this.#clients.schedule()
    this.#deskClients.schedule()
    for (const at of comparedAtMs)
      this.scheduler.at(startAt + at, 'compare', () => this.checker.compareViews())
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
    // Nothing starts on a dead machine; with it comes everything that was to run there.
    if (host.up || this.#keeper.isDead) return
    host.up = true
    host.recover()
    const life = host.life
    const name = `n${host.index}-${life}`
    const clock = host.clock(life)
    const driver = scriptDriver(this.#plan, clock, observe(this.checker, `node_${name}-1`, this.counts))
    const { checker } = this
    const tools = makeTools(
      (turn, input) => checker.note(checker.consult(({ effects }) => effects.happen(turn, input))),
      clock,
    )
    const store = new NodeStore(this.#shared, host, `node_${name}-1`)
    const ports: RuntimePorts = {
      store,
      lists: this.#shared.store.lists,
      clock,
      ids: makeIds(host, name, this.scheduler),
      agents: { ...this.#book, driver: () => driver },
      tools: { of: async () => tools },
      limits: this.#limits,
      count: countWords,
      summarise: async (_, __, entries) => summarise(entries.length),
      describeWorkspace: async () => ({ text: '' }),
      schemas: inlineSchemas,
      wake: WakeSettings.parse({ default: 'wake', perHour: 2 }),
      subagent: null,
      asks: this.#plan.kind === 'desk',
      report: (fault) => this.#reported(fault),
    }
    const start = (): Promise<Node> => startNode(this.#shared.bug?.ports?.(ports) ?? ports)
    const { versions } = this.#shared
    void (versions === null ? start() : store.join(versions).then(start)).then(
      (node) => {
        if (host.life === life) this.#nodes.set(host.index, { node, desks: openNodeDesks(node, this.#book) })
      },
      (error: unknown) => {
        // A node that cannot reach the store at its start is started again, as its host's keeper would.
        if (!isInjected(error)) this.checker.fail(`fault: a node did not start: ${String(error)}`)
        this.scheduler.after(500, `start ${host.index}`, () => {
          if (host.life !== life || !host.up) return
          // In a process of its own: nothing of the one that did not start goes on.
          host.crash()
          this.#start(host)
        })
      },
    )
  }

  #reported(fault: unknown): void {
    if (isInjected(fault)) return count(this.counts, 'reported')
    this.checker.fail(`fault: ${describeFault(fault)}`)
  }

  #inject(given: Fault): void {
    const { host } = this.findNode(given.node)
    const fault = replaceProgram(given, host)
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
    if (fault.kind === 'clock') return this.#jump(fault.byMs, host, after)
    if (fault.kind === 'disk') return this.#keeper.breakDisk(fault, after)
    if (fault.kind === 'crash') {
      count(this.counts, 'crash')
      this.#nodes.delete(host.index)
      host.crash()
      return after(() => {
        count(this.counts, 'restart')
        this.#start(host)
      })
    }
    if (fault.kind === 'stop') {
      count(this.counts, 'stop')
      const { life } = host
      this.#stop(host)
      return after(() => {
        if (host.up && host.life === life) host.crash()
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

  close(): Promise<void> {
    return this.#keeper.close()
  }

  /** All nodes are on one machine, or each has a clock of its own, and another one is the store's. */
  #jump(byMs: number, host: Host, after: (run: () => void) => void): void {
    count(this.counts, byMs > 0 ? 'clock.ahead' : 'clock.back')
    const clock = this.#plan.ownClocks ? host : this.scheduler
    clock.skewMs += byMs
    after(() => (clock.skewMs -= byMs))
  }

  /** In good order, as far as the time until its restart allows. */
  #stop(host: Host): void {
    const { life } = host
    const node = this.#nodes.get(host.index)?.node
    // It begins nothing more.
    if (node !== undefined) this.checker.ledger.stopping.add(node.runtime.node)
    const stopped = node?.stop() ?? Promise.resolve()
    this.#nodes.delete(host.index)
    const end = (): void => {
      if (host.life === life) host.crash()
    }
    stopped.then(end, end)
  }

  /** Nothing more is going to be asked or to break. */
  get isCalm(): boolean {
    return this.#faultsLeft === 0 && this.#clients.isDone && this.#deskClients.isDone
  }

  /** Since when some node has been well without a pause; infinite if none is. */
  get wellSince(): number {
    return Math.min(...this.#hosts.map((host) => host.wellSince))
  }
}
