/** People and programs at the desks: they ask once, and once more with the same id where a fault was the answer. */
import { StoreUnavailable } from '../src/runtime/kernel/store-health.ts'
import type { Desks } from '../src/runtime/desk/desk.ts'
import type { Checker } from './checker.ts'
import { draftId, nameAct, pick, playDesk, type Doing, type Opened } from './desk-work.ts'
import type { DeskAct } from './desk-acts.ts'
import { countRefusal } from './happenings.ts'
import { describeFault, isInjected, type Host } from './host.ts'
import { count } from './count.ts'
import type { Plan } from './plan.ts'
import { startAt, type Scheduler } from './scheduler.ts'

type Surroundings = {
  scheduler: Scheduler
  counts: Map<string, number>
  checker: Checker
  findNode(index: number): { host: Host; desks: Desks | null }
}

const retryMs = 900

export class DeskClients {
  readonly #plan: Plan
  readonly #world: Surroundings
  readonly #opened: Opened = []
  #left: number

  constructor(plan: Plan, world: Surroundings) {
    this.#plan = plan
    this.#world = world
    this.#left = plan.desk.length
  }

  get isDone(): boolean {
    return this.#left === 0
  }

  schedule(): void {
    for (const act of this.#plan.desk)
      this.#world.scheduler.at(startAt + act.at, 'desk', () => {
        this.#left -= 1
        this.#ask(act, act.node, true)
      })
  }

  #ask(act: DeskAct, at: number, again: boolean): void {
    const { counts, scheduler, checker } = this.#world
    const { host, desks } = this.#world.findNode(at)
    const retry = (): void => {
      if (again) scheduler.after(retryMs, 'desk again', () => this.#ask(act, at + 1, false))
    }
    if (desks === null || !host.up) return retry()
    host.enter(host.life, () => {
      const seen = [...this.#opened]
      const doing: Doing = { question: null }
      const told = checker.consult((oracle) =>
        oracle.beginDesk({
          act,
          name: nameAct(act),
          picked: (n) => pick(seen, n),
          draft: draftId,
          question: () => doing.question,
        }),
      )
      playDesk(desks, act, this.#opened, doing).then(
        (became) => {
          count(counts, `desk.${act.do}`)
          checker.consult(() => checker.note(told(became)))
          countRefusal(counts, became)
        },
        (fault: unknown) => {
          if (fault instanceof StoreUnavailable) countRefusal(counts, fault.refusal.code)
          else if (!isInjected(fault)) checker.fail(`fault: ${describeFault(fault)}`)
          retry()
        },
      )
    })
  }
}
