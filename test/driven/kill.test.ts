/** The server is killed in the middle of a turn of a driven agent: one outcome afterwards, and nobody left. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { tielineClient } from '../../src/client/client.ts'
import { compiled } from '../kits/compiled.ts'
import { fakeCommand, processesOf, readLog } from '../kits/driven.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

async function start(directory: string): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [main, 'serve', '--port', '0', '--json'], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...compiled,
      PATH: process.env['PATH'],
      HOME: directory,
      TIELINE_CONFIG: join(directory, 'tieline.toml'),
      TIELINE_DATA_DIR: join(directory, 'data'),
    },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let text = ''
  for await (const chunk of child.stdout) {
    text += String(chunk)
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0]
    if (url !== undefined) return { child, url }
  }
  throw new Error(`the server did not start: ${text}`)
}

test.each([
  [true, 'completed'],
  [false, 'lost'],
])('with an agent that can load its sessions: %s, the turn is %s', async (canLoad, outcome) => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'tieline-driven-kill-')))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const home = join(directory, 'home')
  const command = fakeCommand({ home, canLoad })
  writeFileSync(
    join(directory, 'tieline.toml'),
    `[agents.fake]\ndriver = "acp"\nsandbox = "off"\ncommand = ${JSON.stringify(command)}\n`,
  )
  const first = await start(directory)
  const task = 'child\nsay half\nwait 4000\nsay whole'
  const asked = tielineClient({ url: first.url }).calls.open({ agent: 'fake', task, background: true })
  const { call_id: call } = await asked
  await vi.waitFor(() => expect(readLog(home).some((entry) => 'child' in entry)).toBe(true), {
    timeout: 20_000,
  })
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')
  // Its watcher ends the whole group, although nobody asked it to.
  await vi.waitFor(() => expect(processesOf(home)).toEqual([]), { timeout: 15_000 })
  const second = await start(directory)
  const client = tielineClient({ url: second.url })
  await vi.waitFor(async () => expect(await client.calls.get(call)).toMatchObject({ outcome }), {
    timeout: 40_000,
    interval: 300,
  })
  // It is asked once; only an agent that has its session again hears that it was interrupted.
  const prompts = readLog(home).flatMap((entry) => ('prompt' in entry ? [String(entry['prompt'])] : []))
  expect(prompts.map((text) => text.includes('You were interrupted'))).toEqual(
    canLoad ? [false, true] : [false],
  )
  second.child.kill('SIGTERM')
  await once(second.child, 'exit')
  await vi.waitFor(() => expect(processesOf(home)).toEqual([]), { timeout: 15_000 })
})
