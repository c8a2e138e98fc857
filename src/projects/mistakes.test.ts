import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
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

/** The user's own configuration alone, in a home of its own. */
function book(limits: Partial<Limits> = {}) {
  const home = mkdtempSync(join(tmpdir(), 'tieline-mistakes-'))
  const cwd = join(home, 'work')
  const own = join(home, '.config', 'tieline')
  for (const path of [cwd, own]) mkdirSync(path, { recursive: true })
  const clock = testClock()
  const warned: string[] = []
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
      limits,
      subagent: null,
      warn: (text) => void warned.push(text),
    },
  })
  /** What is known after the file was written. */
  const put = async (text: string) => {
    writeFileSync(join(own, 'tieline.toml'), text)
    await new Promise((resolve) => setImmediate(resolve))
    return projects.look(cwd)
  }
  return { put, warned }
}

const right = '[agents.one]\ndriver = "scripted"\nprompt = "x"\n'
const wrong = `${right}colour = "red"\n`

test('a mistake in the file of the user is said once, and again where it was right meanwhile', async () => {
  const { put, warned } = book()
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
  const { limits } = await book({ taskBytesMax: 20 }).put(text)
  expect([limits.taskBytesMax, limits.depthMax]).toEqual([20, 3])
})
