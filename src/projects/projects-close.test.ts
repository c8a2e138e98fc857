import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { testClock, type TestClock } from '../../test/kits/turns.ts'
import { createAlarm } from '../runtime/kernel/alarm.ts'
import type { Driver } from '../runtime/kernel/ports.ts'
import { openProjects, type OpenProjects } from './projects.ts'

const unused = (): never => {
  throw new Error('nothing runs here')
}
const driver: Driver = { run: unused }

/** The user's own configuration alone, in a home of its own. */
function book(isBusy: () => boolean): {
  projects: OpenProjects
  clock: TestClock
  cwd: string
  put: (agent: string) => void
} {
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
      limits: {},
      subagent: null,
      warn: unused,
    },
  })
  const put = (agent: string): void =>
    writeFileSync(join(own, 'tieline.toml'), `[agents.${agent}]\ndriver = "scripted"\nprompt = "x"\n`)
  return { projects, clock, cwd, put }
}

const nextRound = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('what a project had before is closed when no turn runs, and not before', async () => {
  let [busy, closed] = [true, 0]
  const { projects, cwd, put } = book(() => busy)
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
