/** A real server that drives the fake agent, each in processes of its own, and what is left of them. */
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, vi } from 'vitest'
import type { AgentOptions } from '../../src/define.ts'
import type { Event, EventOf, EventType } from '../../src/model/event.ts'
import { isRefusal } from '../../src/model/refusal.ts'
import { serve } from '../../src/server/index.ts'
import type { ServeOptions, Served } from '../../src/server-options.ts'
import { compiled } from './compiled.ts'
import type { FakeAcp } from './fake-acp.ts'

export const fakeAgent = fileURLToPath(new URL('fake-acp-agent.ts', import.meta.url))

/** Its settings come with its command, so that several can run side by side. */
export const fakeCommand = (settings: FakeAcp): string[] => [
  '/usr/bin/env',
  `FAKE_ACP=${JSON.stringify(settings)}`,
  `NODE_COMPILE_CACHE=${compiled.NODE_COMPILE_CACHE}`,
  process.execPath,
  fakeAgent,
]

export type Driven = {
  served: Served
  /** The same directory, another server. */
  restart: () => Promise<Driven>
  directory: string
  home: string
  /** What the fake agent wrote down, in order. */
  log: () => Record<string, unknown>[]
  /** `sub_agent` to the fake, as a client. */
  call: (task: string, more?: object) => Promise<Answer>
  events: <T extends EventType>(type: T) => Promise<EventOf<T>[]>
  /** Processes that have the fake's home in their environment or command. */
  processes: () => number[]
}

type Answer = {
  outcome: string | null
  output: string
  errors: string[]
  tokens_used: number
  call_id: string
  tool_calls: string[]
}

export async function driveFake(
  settings: Partial<FakeAcp> = {},
  agent: AgentOptions = {},
  options: ServeOptions = {},
): Promise<Driven> {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'tieline-driven-')))
  const home = join(directory, 'home')
  const open: Served[] = []
  const start = async (): Promise<Driven> => {
    const served = await serve({
      dataDir: join(directory, 'data'),
      port: 0,
      cwd: directory,
      ...options,
      agents: {
        fake: {
          driver: 'acp',
          command: fakeCommand({ home, ...settings }),
          sandbox: 'off',
          allowSubAgentCalls: true,
          ...agent,
        },
        echo: { script: [{ say: 'echo: {{task}}' }] },
        ...options.agents,
      },
    })
    open.push(served)
    return { served, directory, home, restart: start, ...lookAt(served, home) }
  }
  onTestFinished(async () => {
    for (const served of open) await served.close()
    // Whatever a test is about: nobody is left behind.
    await vi.waitFor(() => expect(processesOf(home)).toEqual([]), { timeout: 15_000 })
    rmSync(directory, { recursive: true, force: true })
  }, 30_000)
  return start()
}

const lookAt = (served: Served, home: string): Pick<Driven, 'log' | 'call' | 'events' | 'processes'> => ({
  log: () => readLog(home),
  async call(task, more = {}) {
    const answer = await served.line.calls.open({ agent: 'fake', task, ...more })
    if (isRefusal(answer)) throw new Error(JSON.stringify(answer))
    return answer as unknown as Answer
  },
  events: (type) => readEvents(served, type),
  processes: () => processesOf(home),
})

export function readLog(home: string): Record<string, unknown>[] {
  try {
    const lines = readFileSync(join(home, 'log.jsonl'), 'utf8').trim().split('\n')
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  } catch {
    // It has not begun to write.
    return []
  }
}

export async function readEvents<T extends EventType>(served: Served, type: T): Promise<EventOf<T>[]> {
  const { text } = await served.line.log.export(null)
  return text
    .split('\n')
    .flatMap((line) => (line.includes(`"${type}"`) ? [JSON.parse(line) as unknown] : []))
    .flatMap(findEvents)
    .filter((event): event is EventOf<T> => event.type === type)
}

function findEvents(row: unknown): Event[] {
  if (Array.isArray(row)) return row.flatMap(findEvents)
  if (row === null || typeof row !== 'object') return []
  if ('type' in row && 'session' in row) return [row as Event]
  return Object.values(row).flatMap(findEvents)
}

/** By what their environment says, which children inherit; a process that ends meanwhile is not there. */
export function processesOf(home: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid)
    .filter((pid) => {
      try {
        const [status, environment] = ['status', 'environ'].map((file) =>
          readFileSync(`/proc/${pid}/${file}`, 'latin1'),
        )
        return environment?.includes(home) === true && status?.includes('State:\tZ') !== true
      } catch {
        return false
      }
    })
}
