/**
 * A server of its own in a home of its own, in which all five programs are agents that it drives, and a scripted
 * model for them. Several of these run side by side and don't see each other's processes.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tielineClient, type TielineClient } from '../../src/client/client.ts'
import { fakeModel, type FakeModel, type FakeRule, type FakeTool } from '../../test/kits/fake-model.ts'
import { findLeftOver } from './left-over.ts'
import { cleanEnv } from './process.ts'
import { agentPrograms, type AgentProgram } from './programs.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const leftMsMax = 10_000
const lookMs = 100

export type Lane = {
  fake: FakeModel
  home: string
  directory: string
  /** How long its agent took to ask its model, as far as it was seen. */
  startedMs: number
  client(): TielineClient
  /** Kills the server as a crash would. */
  kill(): Promise<void>
  /** Starts another on the same data. */
  start(): Promise<void>
  close(): Promise<void>
}

export async function openLane(): Promise<Lane> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'tieline-five-')))
  const [directory, own] = [join(home, 'project'), join(home, 'server')]
  for (const folder of [directory, own]) mkdirSync(folder)
  const fake = await fakeModel([{ when: { system: /title generator/i }, text: 'A title' }, { text: 'ok' }], {
    toolRoundsMax: 100,
  })
  const place = { home, model: fake.url }
  for (const program of agentPrograms) program.prepare(place)
  askForShell(home)
  const config = join(own, 'tieline.json')
  writeFileSync(config, JSON.stringify(describeAgents(place)))
  let running: { child: ChildProcess; client: TielineClient } | null = null
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const child = running?.child
    running = null
    if (child === undefined) return
    child.kill(signal)
    await once(child, 'exit')
  }
  const lane: Lane = {
    fake,
    home,
    directory,
    startedMs: 20_000,
    client() {
      if (running === null) throw new Error('no server runs')
      return running.client
    },
    kill: () => end('SIGKILL'),
    async start() {
      running = await startServer(directory, own, config)
    },
    async close() {
      await end('SIGTERM')
      await fake.close()
      rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
    },
  }
  await lane.start()
  return lane
}

async function startServer(
  cwd: string,
  own: string,
  config: string,
): Promise<{ child: ChildProcess; client: TielineClient }> {
  const child = spawn(process.execPath, [main, 'serve', '--port', '0', '--json', '--config', config], {
    cwd,
    stdio: ['ignore', 'pipe', 'ignore'],
    // Not the home of the agents: what is found there after a case is theirs.
    env: { PATH: process.env['PATH'], HOME: own, TIELINE_DATA_DIR: join(own, 'data') },
  })
  let text = ''
  for await (const chunk of child.stdout) {
    text += String(chunk)
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0]
    // With it nobody has to be told apart by the connection, which takes long on a busy machine.
    const token = readIfThere(join(own, 'data', 'token'))
    if (url !== undefined)
      return { child, client: tielineClient({ url, ...(token === null ? {} : { token }) }) }
  }
  throw new Error(`the server did not start: ${text}`)
}

const readIfThere = (file: string): string | null =>
  existsSync(file) ? readFileSync(file, 'utf8').trim() || null : null

/** OpenCode asks for leave only where its configuration says so. */
function askForShell(home: string): void {
  const file = join(home, '.config', 'opencode', 'opencode.json')
  const settings = JSON.parse(readFileSync(file, 'utf8')) as object
  writeFileSync(file, JSON.stringify({ ...settings, permission: { bash: 'ask' } }))
}

function describeAgents(place: { home: string; model: string }): object {
  const command = (program: AgentProgram): string[] => {
    const { command: file, args } = program.acp()
    const env = { ...cleanEnv(place), ...program.env(place) }
    return ['/usr/bin/env', ...Object.entries(env).map(([name, value]) => `${name}=${value}`), file, ...args]
  }
  return {
    providers: { fake: { kind: 'openai-compatible', baseURL: place.model } },
    agents: {
      asker: { model: 'fake/scripted', tools: ['sub_agent'], allowSubAgentCalls: true },
      coder: { driver: 'scripted', script: [{ say: 'The word is tangerine.' }] },
      sleeper: { driver: 'scripted', script: [{ hang: true }] },
      ...Object.fromEntries(
        agentPrograms.map((program) => [
          program.id,
          {
            driver: 'acp',
            preset: program.id,
            command: command(program),
            // The scripted model is on this machine, which no sandbox reaches.
            sandbox: 'off',
            billing: 'key',
            allowSubAgentCalls: true,
          },
        ]),
      ),
    },
  }
}

/** The model of this program uses these tools when it is asked this, then does what `end` says. */
export function script(
  { fake }: Lane,
  prompt: string,
  rounds: readonly FakeTool[],
  end: FakeRule & { text?: string },
): void {
  const tools = rounds.map((tool, results) => ({
    when: { user: prompt, results },
    text: `working on ${prompt}`,
    tools: [tool],
  }))
  fake.rules.splice(1, 0, ...tools, { ...end, when: { user: prompt, results: rounds.length } })
}

export async function until<T>(
  what: string,
  msMax: number,
  look: () => Promise<T | null | undefined | false> | T | null | undefined | false,
): Promise<T> {
  for (const end = Date.now() + msMax; Date.now() < end;) {
    const found = await look()
    if (found !== null && found !== undefined && found !== false) return found
    await new Promise((resolve) => setTimeout(resolve, lookMs))
  }
  throw new Error(`${what}: not within ${msMax} ms`)
}

const processesOf = (home: string): string[] => findLeftOver(home).map(({ pid, line }) => `${pid} ${line}`)

export async function nobodyLeft({ home }: Lane): Promise<void> {
  await until('no process is left', leftMsMax, () => processesOf(home).length === 0).catch(() => {
    throw new Error(`processes are left: ${processesOf(home).join('; ')}`)
  })
}
