/** The switch that instrumented rules ask: which mutant is on, and which were asked for. */

/** Loops that go on for so much longer than without a mutant never end. */
const ticksFactor = 20
const ticksMin = 200_000

export class EndlessLoop extends Error {
  constructor() {
    super('a loop does not end')
  }
}

export class MutantSwitch {
  active = -1
  ticks = 0
  ticksMax = Infinity
  asked = new Set<number>()
  readonly killed = new Map<number, string>()

  seen = (id: number): boolean => {
    if (this.active === -1) this.asked.add(id)
    return id === this.active
  }

  tick = (): void => {
    this.ticks += 1
    if (this.ticks > this.ticksMax) throw new EndlessLoop()
  }

  turnOn(id: number, ticks: number): void {
    this.active = id
    this.ticks = 0
    this.ticksMax = ticks * ticksFactor + ticksMin
  }

  turnOff(): void {
    this.active = -1
    this.ticks = 0
    this.ticksMax = Infinity
  }
}

type Holder = { $mutants?: MutantSwitch }

/** One for the process: modules are loaded again for each test file. */
export const mutantSwitch = ((globalThis as Holder).$mutants ??= new MutantSwitch())
