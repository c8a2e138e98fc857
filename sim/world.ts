/**
 * The simulated world: several real nodes on one real store in memory, on virtual time, with the faults of a
 * plan.
 */
import { inlineSchemas } from '../src/adapters/schemas/inline-schemas.ts'
import type { Event } from '../src/model/event.ts'
import { boundaryFrom } from '../src/model/frame.ts'
import type { Limits } from '../src/model/limits.ts'
import { cancel } from '../src/runtime/ending.ts'
import { startNode, type Node } from '../src/runtime/node.ts'
import type { LinePorts } from '../src/runtime/line.ts'
import type { Tool } from '../src/runtime/ports.ts'
import { startRun } from '../src/runtime/run.ts'
import { sqliteStore, type SqliteStore } from '../src/store/sqlite.ts'
import { buffer } from '../src/tools/buffer.ts'
import { callAgentTool } from '../src/tools/call-agent.ts'
import { sendMessage } from '../src/tools/send-message.ts'
import { subAgentTool } from '../src/tools/sub-agent.ts'
import { subagentTool } from '../src/tools/subagent.ts'
import { waitForCallTool } from '../src/tools/wait-for-call.ts'
import { agentNames, agents, limitsOf, mainOf, nameOf } from './agents.ts'
import type { Bug } from './bug.ts'
import { Checker } from './checker.ts'
import { countWords } from './count-words.ts'
import { scriptDriver, taskOf } from './driver.ts'
import { Host, InjectedFault } from './host.ts'
import { count } from './ledger.ts'
import { NodeStore, type Shared } from './node-store.ts'
import { acceptAs, mailId, outsiders, sendAs } from './mail-work.ts'
import type { Fault, MailAct, Plan, Root } from './plan.ts'
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
  readonly plan: Plan
  readonly scheduler: Scheduler
  readonly store: SqliteStore
  readonly limits: Limits
  readonly checker: Checker
  readonly counts = new Map<string, number>()
  readonly hosts: Host[]
  readonly #nodes: (Node | null)[]
  readonly #shared: Shared
  #rootsLeft: number
  #faultsLeft: number
  #mailLeft: number
  rerunsMax = 0

  constructor(plan: Plan, bug: Bug | null) {
    this.plan = plan
    this.scheduler = new Scheduler(plan.seed)
    this.limits = limitsOf(plan.limits)
    this.store = sqliteStore({ directory: ':memory:', now: () => this.scheduler.now })
    this.hosts = Array.from(
      { length: plan.nodes },
      (_, index) => new Host(index, plan.seed, this.scheduler, (what) => count(this.counts, what)),
    )
    this.#nodes = this.hosts.map(() => null)
    this.checker = new Checker(this.store, this.limits, () => this.scheduler.now)
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
    this.#rootsLeft = plan.roots.length
    this.#faultsLeft = plan.faults.length
    this.#mailLeft = plan.mail.length
  }

  #reran(reruns: number): void {
    if (reruns > 0) count(this.counts, 'keys.rerun')
    this.rerunsMax = Math.max(this.rerunsMax, reruns)
    if (reruns > 5) this.checker.fail(`R1: a transaction ran ${reruns + 1} times before it had its keys`)
  }

  /**
   * Every agent has its main session; nodes start one after another; roots and faults come when their time
   * has come.
   */
  async begin(): Promise<void> {
    for (const agent of agentNames) {
      const created: Event = {
        type: 'session.created',
        session: mainOf(agent),
        turn: null,
        agent,
        kind: 'persistent',
        parent: null,
        cwd: '/',
        title: agent,
        model: null,
        flow: null,
      }
      await this.store.transact([`session:${mainOf(agent)}`], async (tx) => tx.append(created))
    }
    for (const session of outsiders) {
      const created: Event = {
        type: 'session.created',
        session,
        turn: null,
        agent: 'external',
        kind: 'external',
        parent: null,
        cwd: '/',
        title: '',
        model: null,
        flow: null,
      }
      await this.store.transact([`session:${session}`], async (tx) => tx.append(created))
    }
    this.checker.skip()
    for (const host of this.hosts) this.#start(host)
    await this.scheduler.settle()
    for (const root of this.plan.roots) this.scheduler.at(startAt + root.at, 'root', () => this.#ask(root))
    this.plan.mail.forEach((act, index) =>
      this.scheduler.at(startAt + act.at, 'mail', () => this.#mail(act, index)),
    )
    for (const fault of this.plan.faults)
      this.scheduler.at(startAt + fault.at, `fault ${fault.kind}`, () => this.#inject(fault))
  }

  #start(host: Host): void {
    host.up = true
    host.recover()
    const life = host.life
    let serial = 0
    const name = `n${host.index}-${life}`
    const ids = {
      next: () =>
        serial === 0
          ? `${name}-${(serial += 1)}`
          : `${this.scheduler.now.toString(36)}-${host.index}-${life}-${(serial += 1).toString(36).padStart(4, '0')}`,
      boundary: () => boundaryFrom(serial * 7919 + life),
    }
    const clock = host.clock(life)
    const driver = scriptDriver(this.plan, clock, {
      count: (what) => count(this.counts, what),
      result: (call, outcome) => this.checker.answered(call, outcome),
    })
    const ports: LinePorts = {
      store: new NodeStore(this.#shared, host, `node_${name}-1`),
      lists: this.#shared.store.lists,
      clock,
      ids,
      agents: { get: (agent) => agents.get(agent), names: () => agentNames, driver: () => driver },
      tools: { of: async () => tools },
      limits: this.limits,
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

  #reported(fault: unknown): void {
    if (fault instanceof InjectedFault) return count(this.counts, 'reported')
    this.checker.fail(`fault: ${fault instanceof Error ? (fault.stack ?? fault.message) : String(fault)}`)
  }

  #ask(root: Root): void {
    this.#rootsLeft -= 1
    const host = this.hosts[root.node % this.hosts.length] as Host
    const node = this.#nodes[host.index]
    if (node == null || !host.up) return count(this.counts, 'root.nobody')
    host.enter(host.life, () => {
      const agent = nameOf(root.agent)
      const to = root.main ? { session: mainOf(agent) } : { agent, cwd: '/' }
      const run = startRun(node.line, {
        to,
        text: taskOf(root.script, 'root'),
        timeoutMs: root.timeoutMs,
        maxTokens: root.maxTokens,
      })
      run.accepted.then(
        (sent) =>
          'code' in sent ? count(this.counts, `root.${sent.code}`) : this.checker.accepted(sent.turn),
        () => count(this.counts, 'root.fault'),
      )
      run.then(
        (result) => count(this.counts, `root.${result.outcome}`),
        () => count(this.counts, 'root.fault'),
      )
      const { cancelAfterMs } = root
      if (cancelAfterMs !== undefined)
        void run.accepted.then(
          (sent) => ('code' in sent ? undefined : this.#cancelLater(root, cancelAfterMs, sent.turn)),
          () => undefined,
        )
    })
  }

  #mail(act: MailAct, index: number): void {
    if (act.do === 'send') {
      this.#try(
        act.node,
        async (node) => {
          const became = await sendAs(node.line, this.store, act)
          count(this.counts, `mail.${became}`)
          if (became === 'sent' || became === 'released') this.checker.mailed(mailId(act.id))
        },
        () => (this.#mailLeft -= 1),
      )
      if (act.againMs !== undefined) {
        this.#mailLeft += 1
        this.scheduler.after(act.againMs, 'mail again', () =>
          this.#mail({ ...act, node: act.node + 1, againMs: undefined }, index),
        )
      }
      return
    }
    if (act.twin === true) this.#mailLeft += 1
    for (const twin of act.twin === true ? [0, 1] : [0]) {
      const name = `accept-${index}-${twin}`
      this.#try(
        act.node + twin,
        async (node) => {
          const message = await acceptAs(node.line, this.store, act, name)
          count(this.counts, message === null ? 'mail.accepted_none' : 'mail.accepted')
          if (message !== null) this.checker.gave(name, message)
        },
        () => (this.#mailLeft -= 1),
      )
    }
  }

  /** As a client does: where nobody told it what became of it, it tries again, here or there. */
  #try(at: number, work: (node: Node) => Promise<void>, done: () => void, tries = 6): void {
    const host = this.hosts[at % this.hosts.length] as Host
    const node = this.#nodes[host.index]
    const again = (): void => {
      count(this.counts, 'mail.again')
      if (tries === 0) done()
      else this.scheduler.after(700, 'try again', () => this.#try(at + 1, work, done, tries - 1))
    }
    if (node == null || !host.up) return again()
    const { life } = host
    let settled = false
    const settle = (then: () => void): void => {
      if (settled) return
      settled = true
      then()
    }
    host.enter(life, () => {
      work(node).then(
        () => settle(done),
        (error: unknown) =>
          settle(
            error instanceof InjectedFault
              ? again
              : () => {
                  this.checker.fail(
                    `fault: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
                  )
                  done()
                },
          ),
      )
    })
    // A node that died has told nobody anything.
    this.scheduler.after(9000, 'patience', () => settle(again))
  }

  #cancelLater(root: Root, ms: number, turn: `turn_${string}`): void {
    this.scheduler.after(ms, 'cancel', () => {
      const host = this.hosts[(root.cancelNode ?? root.node) % this.hosts.length] as Host
      const node = this.#nodes[host.index]
      if (node == null) return
      host.enter(host.life, () => {
        cancel(node.line, turn, 'cancelled', 'asked by the user').then(
          (done) => count(this.counts, done ? 'cancel.done' : 'cancel.late'),
          () => count(this.counts, 'cancel.fault'),
        )
      })
    })
  }

  #inject(fault: Fault): void {
    const host = this.hosts[fault.node % this.hosts.length] as Host
    if (!host.up) return void (this.#faultsLeft -= 1)
    if (fault.kind === 'commit') {
      this.#faultsLeft -= 1
      host.failing = { left: fault.count, how: fault.how }
      return host.unwell()
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
  get calm(): boolean {
    return this.#rootsLeft === 0 && this.#faultsLeft === 0 && this.#mailLeft === 0
  }

  /** Since when some node has been well without a pause; infinite if none is. */
  get wellSince(): number {
    return Math.min(...this.hosts.map((host) => host.wellSince))
  }
}
