/**
 * Runs each test once as it is, and notes which mutants it meets; then once for every mutant that it met and
 * that is still alive, the quickest tests first.
 */
import { appendFileSync, readdirSync } from 'node:fs'
import { TestRunner, type RunnerTestCase, type RunnerTestSuite, type SerializedConfig } from 'vitest'
import { instrumentAll } from './plugin.ts'
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
 * Where a mutant's file has a test of its own, the tests of other files try it only for so long, the quickest
 * first.
 */
const farMsMax = 150

const nameOf = (file: string): string => file.replace(/^.*\//, '').replace(/(\.test)?\.ts$/, '')

export type RunnerLine = { killed: [number, string][]; asked: number[]; loaded: number[] }

export default class MutantRunner extends TestRunner {
  #known: Known[] = []
  readonly #out = process.env['MUTANTS_OUT'] ?? ''
  readonly #wanted: ReadonlySet<number> | null
  readonly #files = new Map<number, string>()
  readonly #tests = new Set<string>()
  /** A mutant that is on from the start, because it is part of what a module does when it is loaded. */
  readonly #fixed = Number(process.env['MUTANTS_ACTIVE'] ?? -1)

  constructor(config: SerializedConfig) {
    super(config)
    const ids = process.env['MUTANTS_IDS']
    this.#wanted = ids === undefined ? null : new Set(ids.split(',').map(Number))
    for (const [file, { mutants }] of instrumentAll(config.root))
      for (const { id } of mutants) this.#files.set(id, nameOf(file))
    for (const name of readdirSync(`${config.root}/src/model`))
      if (name.endsWith('.test.ts')) this.#tests.add(nameOf(name))
    if (this.#fixed !== -1) mutantSwitch.turnOn(this.#fixed, Infinity)
  }

  override async importFile(...given: Parameters<TestRunner['importFile']>): Promise<unknown> {
    mutantSwitch.asked = new Set()
    const imported: unknown = await super.importFile(...given)
    for (const id of mutantSwitch.asked) mutantSwitch.loaded.add(id)
    return imported
  }

  async runTask(test: RunnerTestCase): Promise<void> {
    const run = TestRunner.getTestFn(test)
    if (this.#fixed !== -1) return run()
    mutantSwitch.asked = new Set()
    mutantSwitch.ticks = 0
    const startedAt = process.cpuUsage()
    await run()
    const name = `${test.file.name}: ${test.name}`
    // Of the processor: on a busy machine a quick test would seem slow.
    const ms = process.cpuUsage(startedAt).user / 1000
    if (!measured.test(`${test.suite?.name ?? ''} ${test.name}`))
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
    if (suite.type === 'suite' && suite.id === suite.file.id && this.#fixed === -1) await this.#tryMutants()
  }

  async #tryMutants(): Promise<void> {
    const known = this.#known.sort((a, b) => a.ms - b.ms)
    this.#known = []
    const asked = new Set(known.flatMap((test) => [...test.asked]))
    const before = new Set(mutantSwitch.killed.keys())
    for (const id of asked) {
      if (mutantSwitch.killed.has(id) || this.#wanted?.has(id) === false) continue
      let leftMs = farMsMax
      for (const test of known) {
        if (!test.asked.has(id)) continue
        if (!this.#isNear(test, id) && (leftMs -= test.ms) < 0) break
        if (!(await fails(test, id))) continue
        mutantSwitch.killed.set(id, test.name)
        break
      }
    }
    const killed = [...mutantSwitch.killed].filter(([id]) => !before.has(id))
    const line: RunnerLine = { killed, asked: [...asked], loaded: [...mutantSwitch.loaded] }
    appendFileSync(this.#out, `${JSON.stringify(line)}\n`)
  }

  #isNear({ file }: Known, id: number): boolean {
    const own = this.#files.get(id) ?? ''
    return file.startsWith(own) || !this.#tests.has(own)
  }
}

async function fails({ run, ms, ticks }: Known, id: number): Promise<boolean> {
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
