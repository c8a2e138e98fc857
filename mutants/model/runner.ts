/**
 * Runs each test once as it is, and notes which mutants it meets; then once for every mutant that it met and
 * that is still alive, the quickest tests first. Mutants that are met while modules are loaded, and those of
 * modules that remember something, are tried with modules that are loaded again for each.
 */
import { appendFileSync } from 'node:fs'
import { TestRunner, vi, type RunnerTestCase, type RunnerTestSuite, type SerializedConfig } from 'vitest'
import { loadAnew } from './anew.ts'
import type { Mutant } from './instrument.ts'
import { instrumentAll } from './plugin.ts'
import { nameOf, readReach, type Reach } from './reach.ts'
import { mutantSwitch } from './switch.ts'

type Known = {
  file: string
  name: string
  run: () => unknown
  asked: ReadonlySet<number>
  ms: number
  ticks: number
}

const msFactor = 5
const msMin = 2000

/** They measure how the time grows, which says nothing while a switch is asked at every step. */
const measured = /linear|times as long|takes about/

/**
 * So long a mutant is tried by the tests of its own file, the quickest first. One that only slower tests or those
 * of other files would notice counts as alive.
 */
const triedMsMax = 1500

/** What they found out once they know for the life of the process, mutant or not. */
const remembers = new Set(['skeleton', 'frame'])

export type RunnerLine = { killed: [number, string][] }

export default class MutantRunner extends TestRunner {
  #known: Known[] = []
  readonly #out = process.env['MUTANTS_OUT'] ?? ''
  readonly #wanted: ReadonlySet<number> | null
  readonly #mutants = new Map<number, Mutant>()
  readonly #reach: Reach
  /** Those that were met while a file was loaded, such as by what a test file makes for all its tests. */
  readonly #loaded = new Set<number>()

  constructor(config: SerializedConfig) {
    super(config)
    const ids = process.env['MUTANTS_IDS']
    this.#wanted = ids === undefined ? null : new Set(ids.split(',').map(Number))
    for (const [, { mutants }] of instrumentAll(config.root))
      for (const mutant of mutants) this.#mutants.set(mutant.id, mutant)
    this.#reach = readReach(config.root)
  }

  override async importFile(...given: Parameters<TestRunner['importFile']>): Promise<unknown> {
    mutantSwitch.asked = new Set()
    const imported: unknown = await super.importFile(...given)
    for (const id of mutantSwitch.asked) this.#loaded.add(id)
    return imported
  }

  async runTask(test: RunnerTestCase): Promise<void> {
    const run = TestRunner.getTestFn(test)
    mutantSwitch.asked = new Set()
    mutantSwitch.ticks = 0
    const startedAt = process.cpuUsage()
    await run()
    const name = nameTest(test)
    // Of the processor: on a busy machine a quick test would seem slow.
    const ms = process.cpuUsage(startedAt).user / 1000
    if (!isMeasured(test))
      this.#known.push({
        file: nameOf(test.file.name),
        name,
        run,
        asked: mutantSwitch.asked,
        ms,
        ticks: mutantSwitch.ticks,
      })
  }

  override async onAfterRunSuite(suite: RunnerTestSuite): Promise<void> {
    await super.onAfterRunSuite(suite)
    if (suite.type !== 'suite' || suite.id !== suite.file.id) return
    const known = this.#known.sort((a, b) => a.ms - b.ms)
    this.#known = []
    const before = new Set(mutantSwitch.killed.keys())
    await this.#tryMet(known)
    await this.#tryAnew(suite.file.filepath, known)
    const killed = [...mutantSwitch.killed].filter(([id]) => !before.has(id))
    appendFileSync(this.#out, `${JSON.stringify({ killed } satisfies RunnerLine)}\n`)
  }

  #isOpen = (id: number): boolean => !mutantSwitch.killed.has(id) && this.#wanted?.has(id) !== false

  async #tryMet(known: readonly Known[]): Promise<void> {
    const asked = new Set(known.flatMap((test) => [...test.asked]))
    for (const id of asked) {
      const mutant = this.#mutants.get(id)
      if (mutant === undefined || remembers.has(nameOf(mutant.file)) || !this.#isOpen(id)) continue
      let leftMs = triedMsMax
      for (const test of known) {
        if (!test.asked.has(id) || !this.#reach.isNear(test.file, nameOf(mutant.file))) continue
        if ((leftMs -= test.ms) < 0) break
        if (!(await fails(test, id))) continue
        mutantSwitch.killed.set(id, test.name)
        break
      }
    }
  }

  async #tryAnew(path: string, known: readonly Known[]): Promise<void> {
    const costs = new Map(known.map((test) => [test.name, test]))
    const test = nameOf(path)
    for (const mutant of this.#mutants.values()) {
      const { id, file } = mutant
      if (!this.#needsLoading(mutant) || !this.#isOpen(id)) continue
      if (!this.#reach.isNear(test, nameOf(file))) continue
      const by = await this.#findFailing(path, id, costs)
      if (by !== null) mutantSwitch.killed.set(id, by)
    }
    mutantSwitch.turnOff()
    vi.resetModules()
  }

  #needsLoading = ({ id, isStatic, file }: Mutant): boolean =>
    isStatic || this.#loaded.has(id) || remembers.has(nameOf(file))

  async #findFailing(path: string, id: number, costs: ReadonlyMap<string, Known>): Promise<string | null> {
    mutantSwitch.turnOn(id, loadingTicksMax)
    const loaded = await loadAnew(this, path)
    if (loaded instanceof Error) return `${nameOf(path)}.test.ts does not load: ${loaded.message}`
    const tests = loaded
      .filter((test) => !isMeasured(test))
      .map((test) => {
        const name = nameTest(test)
        const { ms, ticks } = costs.get(name) ?? { ms: 0, ticks: loadingTicksMax }
        return { name, ms, ticks, run: TestRunner.getTestFn(test) }
      })
    let leftMs = triedMsMax
    for (const test of tests.sort((a, b) => a.ms - b.ms)) {
      if ((leftMs -= test.ms) < 0) return null
      if (await fails(test, id)) return test.name
    }
    return null
  }
}

const loadingTicksMax = 1_000_000

/** With its describe: two tests may be called the same. */
const nameTest = (test: RunnerTestCase): string => `${test.file.name}: ${test.fullTestName}`

const isMeasured = (test: RunnerTestCase): boolean => measured.test(`${test.suite?.name ?? ''} ${test.name}`)

async function fails({ run, ms, ticks }: Pick<Known, 'run' | 'ms' | 'ticks'>, id: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('it takes too long')), ms * msFactor + msMin)
  })
  mutantSwitch.turnOn(id, ticks)
  try {
    await Promise.race([run(), late])
    return false
  } catch {
    return true
  } finally {
    mutantSwitch.turnOff()
    clearTimeout(timer)
  }
}
