/** What clients outside do in a plan: start and cancel runs, send mail, and accept it. */
import type { TurnId } from '../src/model/id.ts'
import { isRefusal } from '../src/model/refusal.ts'
import { cancel } from '../src/runtime/turns/ending.ts'
import type { Node } from '../src/runtime/node.ts'
import { startRun } from '../src/runtime/sessions/run.ts'
import { getMainSession, nameAgent } from './agents.ts'
import { writeTask } from './driver.ts'
import { describeFault, isInjected, type Host } from './host.ts'
import type { Checker } from './checker.ts'
import { count } from './count.ts'
import { mailId, playAccept, playAnnounce, playSend } from './mail-work.ts'
import type { MailAct, Plan, Root } from './plan.ts'
import { startAt, type Scheduler } from './scheduler.ts'
import type { SqliteStore } from '../src/store/sqlite.ts'

type SendAct = Extract<MailAct, { do: 'send' }>
type AcceptAct = Extract<MailAct, { do: 'accept' }>

const triesMax = 6
const retryMs = 700
const patienceMs = 9000

/** What clients can see and reach of the simulated world. */
export type Surroundings = {
  scheduler: Scheduler
  store: SqliteStore
  checker: Checker
  counts: Map<string, number>
  /** Null while no node runs there. */
  findNode(index: number): { host: Host; node: Node | null }
}

export class Clients {
  readonly #plan: Plan
  readonly #world: Surroundings
  #rootsLeft: number
  #mailLeft: number

  constructor(plan: Plan, world: Surroundings) {
    this.#plan = plan
    this.#world = world
    this.#rootsLeft = plan.roots.length
    this.#mailLeft = plan.mail.length
  }

  get isDone(): boolean {
    return this.#rootsLeft === 0 && this.#mailLeft === 0
  }

  schedule(): void {
    const { scheduler } = this.#world
    this.#plan.roots.forEach((root, index) =>
      scheduler.at(startAt + root.at, 'root', () => this.#ask(root, index)),
    )
    this.#plan.mail.forEach((act, index) =>
      scheduler.at(startAt + act.at, 'mail', () =>
        act.do === 'send' ? this.#send(act) : this.#accept(act, index),
      ),
    )
  }

  #count(what: string): void {
    count(this.#world.counts, what)
  }

  #ask(root: Root, index: number): void {
    this.#rootsLeft -= 1
    const { host, node } = this.#world.findNode(root.node)
    if (node === null || !host.up) return this.#count('root.nobody')
    host.enter(host.life, () => {
      const agent = nameAgent(root.agent)
      const { checker } = this.#world
      const told = checker.consult(({ beginRoot }) => beginRoot(root, index))
      const run = startRun(node.runtime, {
        to: root.main ? { session: getMainSession(agent) } : { agent, cwd: '/' },
        text: writeTask(root.script, `root-${index}`),
        timeoutMs: root.timeoutMs,
        maxTokens: root.maxTokens,
      })
      run.accepted.then(
        (sent) => {
          checker.consult(() => checker.note(told(isRefusal(sent) ? sent.code : 'done')))
          if (isRefusal(sent)) this.#count(`root.${sent.code}`)
          else checker.checkAccepted(sent.turn)
        },
        () => this.#count('root.fault'),
      )
      Promise.all([run.accepted, run]).then(
        ([sent, { outcome, output }]) => {
          this.#count(`root.${outcome}`)
          if (!isRefusal(sent)) checker.checkEnded(sent.turn, outcome, output)
        },
        () => this.#count('root.fault'),
      )
      const { cancelAfterMs } = root
      if (cancelAfterMs !== undefined)
        void run.accepted.then(
          (sent) => (isRefusal(sent) ? undefined : this.#cancelLater(root, cancelAfterMs, sent.turn)),
          () => undefined,
        )
    })
  }

  #cancelLater(root: Root, ms: number, turn: TurnId): void {
    this.#world.scheduler.after(ms, 'cancel', () => {
      const { host, node } = this.#world.findNode(root.cancelNode ?? root.node)
      if (node === null) return
      host.enter(host.life, () => {
        cancel(node.runtime, turn, 'cancelled', 'asked by the user').then(
          (done) => this.#count(done ? 'cancel.done' : 'cancel.late'),
          () => this.#count('cancel.fault'),
        )
      })
    })
  }

  #send(act: SendAct): void {
    this.#try(act.node, async (node) => {
      const { checker } = this.#world
      const told = checker.consult(({ asks, mail }) => asks.begin(`mail ${act.id}`, mail.beginSend(act)))
      const became = await playSend(node.runtime, this.#world.store, act)
      this.#count(`mail.${became}`)
      checker.consult(() => checker.note(told(became)))
      if (became === 'sent' || became === 'released') this.#world.checker.checkMailed(mailId(act.id))
    })
    if (act.againMs === undefined) return
    this.#mailLeft += 1
    this.#world.scheduler.after(act.againMs, 'mail again', () =>
      this.#send({ ...act, node: act.node + 1, againMs: undefined }),
    )
  }

  #accept(act: AcceptAct, index: number): void {
    if (act.twin === true) this.#mailLeft += 1
    for (const twin of act.twin === true ? [0, 1] : [0]) {
      const name = `accept-${index}-${twin}`
      this.#try(act.node + twin, async (node) => {
        await playAnnounce(node.runtime, act.of, index % 2 === 0 ? 'resting' : 'used')
        const { checker } = this.#world
        const told = checker.consult(({ asks, mail }) => asks.begin(name, mail.beginAccept(name, act)))
        const message = await playAccept(node.runtime, this.#world.store, act, name)
        checker.consult(() => checker.note(told(message === null ? 'none' : 'taken')))
        this.#count(message === null ? 'mail.accepted_none' : 'mail.accepted')
        if (message !== null) this.#world.checker.checkGiven(name, message)
      })
    }
  }

  /** A client that gets no answer retries, here or on the next node. */
  #try(at: number, work: (node: Node) => Promise<void>, tries = triesMax): void {
    const { scheduler, checker } = this.#world
    const done = (): void => void (this.#mailLeft -= 1)
    const retry = (): void => {
      this.#count('mail.again')
      if (tries === 0) done()
      else scheduler.after(retryMs, 'try again', () => this.#try(at + 1, work, tries - 1))
    }
    const { host, node } = this.#world.findNode(at)
    if (node === null || !host.up) return retry()
    let settled = false
    const settle = (then: () => void): void => {
      if (settled) return
      settled = true
      then()
    }
    const fail = (error: unknown): void => {
      if (isInjected(error)) return retry()
      checker.fail(`fault: ${describeFault(error)}`)
      done()
    }
    host.enter(host.life, () => {
      work(node).then(
        () => settle(done),
        (error: unknown) => settle(() => fail(error)),
      )
    })
    // A node that died answers nobody.
    scheduler.after(patienceMs, 'patience', () => settle(retry))
  }
}
