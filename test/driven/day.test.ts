/** A day of work with driven agents, whose hours pass when they are told to: nothing is left of it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { tielineClient } from '../../src/client/client.ts'
import { isRefusal } from '../../src/model/refusal.ts'
import { compiled } from '../kits/compiled.ts'
import { driveFake, fakeCommand, processesOf, readLog } from '../kits/driven.ts'
import type { Held } from '../kits/passing-time.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const preload = fileURLToPath(new URL('../kits/passing-time.ts', import.meta.url))
const hourMs = 3_600_000
/** Events and records of a hundred sessions are small; a conversation that stays has megabytes of buffers. */
const bytesMax = 32 * 1024 * 1024

/** A real server in a process of its own, for which time passes when it is told to. */
async function openDay() {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'tieline-day-')))
  const home = join(directory, 'home')
  const fake = { driver: 'acp', command: fakeCommand({ home }), sandbox: 'off' }
  writeFileSync(join(directory, 'day.json'), JSON.stringify({ agents: { fake } }))
  const child = spawn(
    process.execPath,
    [`--import=${preload}`, main, 'serve', '--port', '0', '--json', '--config', join(directory, 'day.json')],
    {
      cwd: directory,
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      env: {
        ...compiled,
        PATH: process.env['PATH'],
        HOME: directory,
        TIELINE_DATA_DIR: join(directory, 'data'),
      },
    },
  )
  onTestFinished(async () => {
    if (child.exitCode === null) {
      child.kill('SIGTERM')
      await once(child, 'exit')
    }
    await vi.waitFor(() => expect(processesOf(home)).toEqual([]), { timeout: 15_000 })
    rmSync(directory, { recursive: true, force: true })
  }, 60_000)
  const [said] = (await once(child.stdout as Readable, 'data')) as [Buffer]
  const { url } = JSON.parse(said.toString()) as { url: string }
  const order = async (what: object): Promise<unknown> => {
    child.send(what)
    return ((await once(child, 'message')) as [unknown])[0]
  }
  return {
    directory,
    client: tielineClient({ url }),
    look: async () => (await order({ look: true })) as Held,
    log: () => readLog(home),
    processes: () => processesOf(home),
    /** In quarters, as what comes due may set itself a new time. */
    async passHour(): Promise<void> {
      for (let quarter = 0; quarter < 4; quarter += 1) await order({ pass: hourMs / 4 })
    },
  }
}

test('a hundred driven sessions over a day leave no descriptor, process or memory behind', async () => {
  const { client, directory, ...day } = await openDay()
  let said = 0
  const call = async (): Promise<void> => {
    const word = `word-${(said += 1)}`
    const answer = await client.calls.open({ agent: 'fake', task: `say ${word}` })
    expect(answer).toMatchObject({ outcome: 'completed', output: word })
  }
  const talk = async (session: string): Promise<void> => {
    const word = `word-${(said += 1)}`
    await client.sessions.send(session, { message: `say ${word}` })
    await client.sessions.wait(session, {})
    expect((await client.sessions.history(session, {})).messages.at(-1)?.text).toContain(word)
  }
  const create = async (): Promise<string> =>
    (await client.sessions.create({ cwd: directory, agent: 'fake' })).sessionId
  const sessions: string[] = []
  let early: Held | null = null
  for (let hour = 0; hour < 24; hour += 1) {
    // Three end with their call. One stays, and is spoken to again after hours: 96 on this day, and four at first.
    await Promise.all(Array.from({ length: hour === 0 ? 7 : 3 }, call))
    sessions.push(await create())
    for (const session of [sessions[hour], sessions[hour - 3]]) if (session !== undefined) await talk(session)
    await day.passHour()
    await vi.waitFor(() => expect(day.processes()).toEqual([]), { timeout: 20_000 })
    // What is loaded at first use counts for neither side.
    if (hour === 4) early = await day.look()
  }
  // The next day.
  await talk(sessions[0] ?? '')
  await day.passHour()
  expect(day.log().filter((entry) => 'new' in entry)).toHaveLength(100)
  expect(day.log().filter((entry) => 'load' in entry)).toHaveLength(22)
  await vi.waitFor(() => expect(day.processes()).toEqual([]), { timeout: 20_000 })
  // Connections linger for a moment, and the thread that makes checkpoints has seven descriptors from its first use on.
  // What each session left behind would be eighty.
  await vi.waitFor(async () => {
    const late = await day.look()
    expect(late.descriptors).toBeLessThanOrEqual((early?.descriptors ?? 0) + 24)
    expect(late.resources).toBeLessThanOrEqual((early?.resources ?? 0) + 24)
    expect(late.bytes).toBeLessThanOrEqual((early?.bytes ?? 0) + bytesMax)
  }, 20_000)
}, 600_000)

test('persistent sessions that rest are closed, the longest first, and open again with what they kept', async () => {
  const world = await driveFake()
  const { line } = world.served
  const ids: string[] = []
  for (let number = 0; number < 19; number += 1) {
    const made = await line.sessions.create({ cwd: world.directory, agent: 'fake' })
    if (isRefusal(made)) throw new Error(JSON.stringify(made))
    ids.push(made.sessionId)
    await line.run('fake', `say ${number}`, { session: made.sessionId })
  }
  const agents = (): number => world.log().filter((entry) => 'started' in entry).length
  expect(agents()).toBe(19)
  // R11: sixteen may rest.
  const alive = (): number =>
    world.log().filter((entry) => typeof entry['started'] === 'number' && isAlive(entry['started'])).length
  await vi.waitFor(() => expect(alive()).toBe(16), { timeout: 20_000 })
  expect(await line.run('fake', 'say again', { session: ids[0] as `ses_${string}` })).toMatchObject({
    output: 'again',
  })
  expect(world.log().filter((entry) => 'load' in entry)).toHaveLength(1)
}, 120_000)

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
