/**
 * One node of the cluster, in a process of its own: `node-process.ts <configuration> <port> <directory> <name>`.
 * What its tools do outside is written to a file that all nodes share, so that it can be seen who did what twice.
 */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { defineTool } from '../src/define.ts'
import type { TielineOptions } from '../src/line.ts'
import { closeOnSigterm } from '../hostile/long-run.ts'
import { openServer } from '../src/open-server.ts'
import { systemClock } from '../src/runtime/kernel/system-clock.ts'
import { effectsFile, leaseMs, limits, type Effect, type Said } from './scene.ts'

const [config = '', port = '0', directory = '', name = ''] = process.argv.slice(2)
const say = (said: Said): void =>
  void (process.connected && process.send?.(said, undefined, undefined, () => undefined))

/** May not be repeated: whoever does it twice is found in the file. */
const stamp = defineTool({
  name: 'stamp',
  description: 'puts a stamp on a letter, for good',
  input: z.strictObject({ key: z.string() }),
  run: ({ key }, { turn }) => {
    const effect: Effect = { key, turn: turn.id, node: name }
    appendFileSync(join(directory, effectsFile), `${JSON.stringify(effect)}\n`)
    return { stamped: key }
  },
})

const call = (tool: string, input: (task: string) => object) => ({
  tools: [tool],
  allowSubAgentCalls: true,
  script: async (turn: {
    task: string
    tool(name: string, input: unknown): Promise<{ ok: boolean; value: unknown }>
  }): Promise<string> => {
    const { ok, value } = await turn.tool(tool, input(turn.task))
    return `${ok ? 'answered' : 'refused'}: ${JSON.stringify(value)}`
  },
})

const agents = {
  clerk: {
    description: 'files letters',
    script: async (turn) => `${await turn.think('It is being filed.')} Filed: ${turn.task}`,
  },
  relay: call('sub_agent', (task) => ({
    agent_name: 'clerk',
    task: `for another: ${task}`,
    max_tokens: 400,
  })),
  deep: call('sub_agent', (task) => ({
    agent_name: 'relay',
    task,
    allow_nested_calls: true,
    max_tokens: 1000,
  })),
  stamper: {
    description: 'stamps twice, with a pause in between',
    tools: ['stamp'],
    script: async (turn) => {
      const first = await turn.tool('stamp', { key: `${turn.task} first` })
      await turn.think('The ink dries.')
      await systemClock.sleep(60)
      const second = await turn.tool('stamp', { key: `${turn.task} second` })
      return `stamped ${[first, second].filter(({ ok }) => ok).length}`
    },
  },
  sleeper: {
    description: 'sleeps until it is woken',
    script: (turn) =>
      new Promise<string>((_, reject) => {
        turn.signal.addEventListener('abort', () => reject(turn.signal.reason as Error), { once: true })
      }),
  },
  left: call('call_agent', (task) => ({ agent_id: 'right', message: task })),
  right: call('call_agent', (task) => ({ agent_id: 'middle', message: task })),
  middle: call('call_agent', (task) => ({ agent_id: 'left', message: task })),
} satisfies NonNullable<TielineOptions['agents']>

const served = await openServer({
  config,
  port: Number(port),
  host: '127.0.0.1',
  cwd: directory,
  leaseMs,
  limits,
  limitsOfHttp: { requestsPerMinute: 1e9 },
  log: (level, message, fields) => (level === 'error' ? console.error(message, fields) : undefined),
  tools: [stamp],
  agents,
})
say({ kind: 'ready', url: served.url })
// Where the run itself has ended, nothing of it stays.
process.once('disconnect', () => process.exit(0))

closeOnSigterm(served)
