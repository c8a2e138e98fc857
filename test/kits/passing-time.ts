/**
 * Loaded before a process that has a channel to its parent: `{ pass: ms }` lets so much time go by at once, for both
 * of its clocks and for every timer, and `{ look: true }` is answered with what the process holds.
 */
import { readdirSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

export type Held = { descriptors: number; resources: number; bytes: number }

const [setReal, clearReal] = [setTimeout, clearTimeout]
const [wall, elapsed] = [Date.now.bind(Date), performance.now.bind(performance)]
let passedMs = 0
Date.now = () => wall() + passedMs
performance.now = () => elapsed() + passedMs

/** As much of Node's own as is used here. */
class Timer {
  static readonly all = new Set<Timer>()
  readonly #run: () => void
  readonly #ms: number
  #dueAt = 0
  #real: NodeJS.Timeout | null = null
  #isHeld = true
  constructor(run: () => void, ms: number) {
    this.#run = run
    this.#ms = ms
    this.refresh()
  }
  refresh(): this {
    this.#dueAt = performance.now() + this.#ms
    Timer.all.add(this)
    this.wait()
    return this
  }
  /** Until it is due by the time of now. */
  wait(): void {
    if (this.#real !== null) clearReal(this.#real)
    this.#real = setReal(
      () => {
        Timer.all.delete(this)
        this.#run()
      },
      Math.max(0, this.#dueAt - performance.now()),
    )
    if (!this.#isHeld) this.#real.unref()
  }
  stop(): void {
    Timer.all.delete(this)
    if (this.#real !== null) clearReal(this.#real)
  }
  ref(): this {
    this.#isHeld = true
    this.#real?.ref()
    return this
  }
  unref(): this {
    this.#isHeld = false
    this.#real?.unref()
    return this
  }
  hasRef(): boolean {
    return this.#isHeld
  }
}

const set = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): Timer =>
  new Timer(() => run(...args), ms)
const clear = (timer: unknown): void =>
  timer instanceof Timer ? timer.stop() : clearReal(timer as NodeJS.Timeout | undefined)
Object.assign(globalThis, { setTimeout: Object.assign(set, { ...setReal }), clearTimeout: clear })

function look(): Held {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return {
    descriptors: readdirSync('/proc/self/fd').length,
    resources: process.getActiveResourcesInfo().length,
    bytes: process.memoryUsage().heapUsed,
  }
}

process.on('message', (order: { pass?: number; look?: true }) => {
  if (order.pass !== undefined) {
    passedMs += order.pass
    for (const timer of Timer.all) timer.wait()
  }
  process.send?.(order.look === true ? look() : { passed: passedMs })
})
// It ends when it is told to, not when its parent stops listening.
process.channel?.unref()
