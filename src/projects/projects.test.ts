import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
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
function book(): { projects: OpenProjects; clock: TestClock; cwd: string; put: (agent: string) => void } {
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
    isBusy: () => false,
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
