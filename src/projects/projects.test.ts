import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { testClock } from '../../test/kits/turns.ts'
import type { Limits } from '../model/limits.ts'
import { createAlarm } from '../runtime/kernel/alarm.ts'
import type { Driver } from '../runtime/kernel/ports.ts'
import { openProjects } from './projects.ts'

const unused = (): never => {
  throw new Error('nothing runs here')
}
const driver: Driver = { run: unused }

const define = (agent: string): string => `[agents.${agent}]\ndriver = "scripted"\nprompt = "x"\n`

type BookOptions = { isBusy?: () => boolean; limits?: Partial<Limits>; warned?: string[] }

/** The user's own configuration alone, in a home of its own. */
function book({ isBusy = () => false, limits = {}, warned = [] }: BookOptions = {}) {
  const home = mkdtempSync(join(tmpdir(), 'tieline-projects-'))
  const cwd = join(home, 'work')
  const own = join(home, '.config', 'tieline')
  for (const path of [cwd, own]) mkdirSync(path, { recursive: true })
  const clock = testClock()
  const projects = openProjects({
    named: null,
    source: { cwd, home, env: {} },
    base: { config: null, files: null },
    inCode: {},
    builtIn: {},
    isBusy,
    parts: {
      clock,
      alarm: createAlarm(clock),
      count: (text) => text.length,
      launcher: { wrap: unused } as never,
      prices: null,
      limitBook: null,
      onHost: driver,
      driven: { driver } as never,
      own: [],
      hidden: [],
      limits,
      subagent: null,
      warn: (text) => void warned.push(text),
    },
  })
  const write = (text: string): void => writeFileSync(join(own, 'tieline.toml'), text)
  return { projects, clock, cwd, write, put: (agent: string): void => write(define(agent)) }
}

const nextRound = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('the names of a directory are one list for as long as no file has changed', async () => {
  const { projects, cwd, put } = book()
  put('one')
  const before = projects.look(cwd).agents.names()
  await nextRound()
  expect(projects.look(cwd).agents.names()).toBe(before)
  put('another')
  await nextRound()
  expect(projects.look(cwd).agents.names()).toEqual(['another'])
})

test('a turn that begins a moment after its act has looked does not look again, a later one does', async () => {
  const { projects, clock, cwd, put } = book()
  put('one')
  expect(projects.look(cwd, 50).agents.names()).toEqual(['one'])
  put('another')
  await nextRound()
  clock.pass(49)
  expect(projects.look(cwd, 50).agents.names()).toEqual(['one'])
  clock.pass(1)
  expect(projects.look(cwd, 50).agents.names()).toEqual(['another'])
  put('third')
  await nextRound()
  // An act always looks.
  expect(projects.look(cwd).agents.names()).toEqual(['third'])
})

test('a project whose file is gone counts no longer, also for those who looked before', () => {
  const { projects, cwd } = book()
  const file = join(cwd, 'tieline.toml')
  writeFileSync(file, '[agents.own]\ndriver = "scripted"\nprompt = "x"\n')
  expect(projects.look(cwd).agents.untrusted?.()).toMatchObject([{ state: 'new' }])
  rmSync(file)
  expect(projects.list()).toEqual([])
  expect(projects.known(cwd).agents.untrusted?.()).toEqual([])
})

test('what a project had before is closed when no turn runs, and not before', async () => {
  let [busy, closed] = [true, 0]
  const { projects, cwd, put } = book({ isBusy: () => busy })
  const look = async (): Promise<void> => {
    await nextRound()
    projects.look(cwd)
    await nextRound()
  }
  put('one')
  await look()
  Object.assign(projects.layer().toolbox, { close: async () => void (closed += 1) })
  put('another')
  for (let n = 0; n < 3; n += 1) await look()
  expect(closed).toBe(0)
  busy = false
  for (let n = 0; n < 3; n += 1) await look()
  expect(closed).toBe(1)
})

const right = define('one')
const wrong = `${right}colour = "red"\n`

/** What is known after the file was written. */
function putting(options: BookOptions) {
  const { projects, cwd, write } = book(options)
  return async (text: string) => {
    write(text)
    await nextRound()
    return projects.look(cwd)
  }
}

test('a mistake in the file of the user is said once, and again where it was right meanwhile', async () => {
  const warned: string[] = []
  const put = putting({ warned })
  await put(right)
  expect((await put(wrong)).agents.names()).toEqual(['one'])
  expect(warned).toEqual([expect.stringContaining('Until it is right, what it said before counts.')])
  await put(`${wrong}# saved again\n`)
  expect(warned).toHaveLength(1)
  await put(right)
  await put(wrong)
  expect(warned).toHaveLength(2)
  await put(`${right}# changed\n`)
  await put(wrong)
  expect(warned).toHaveLength(3)
})

test('what the program says of a limit counts more than what its file says', async () => {
  const text = `${right}[limits]\ntaskBytesMax = 10\ndepthMax = 3\n`
  const { limits } = await putting({ limits: { taskBytesMax: 20 } })(text)
  expect([limits.taskBytesMax, limits.depthMax]).toEqual([20, 3])
})
