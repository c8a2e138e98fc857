/**
 * The server that is attacked, in a process of its own. It says how late it is and how much memory it has on
 * a channel of its own, so that this does not depend on the doors.
 */
import { watchLateness, type Window } from '../bench/lateness.ts'
import { loadTokenizer } from '../src/adapters/tokens/tokenizer.ts'
import { closeOnSigterm } from './long-run.ts'
import { openServer } from '../src/open-server.ts'

export type Said =
  | { kind: 'ready'; url: string }
  | { kind: 'window'; window: Window; rssBytes: number }
  | { kind: 'held'; bytes: number }

const [dataDir = '', cwd = '', config = '', port = '0'] = process.argv.slice(2)
const say = (said: Said): void =>
  void (process.connected && process.send?.(said, undefined, undefined, () => undefined))

const served = await openServer({
  dataDir,
  cwd,
  config,
  port: Number(port),
  host: '127.0.0.1',
  limitsOfHttp: { requestsPerMinute: 1e9 },
  // A turn that a crash left behind, and that nobody waits for any more, is ended by the watchdog soon enough
  // to be looked at.
  limits: { inactivityMs: 8000 },
  log: (level, message, fields) => (level === 'error' ? console.error(message, fields) : undefined),
  agents: {
    clerk: {
      description: 'files letters',
      script: async (turn) =>
        `${await turn.think('It is being filed.')} Filed ${turn.task.length} characters.`,
    },
    echo: { description: 'says what it is told', script: (turn) => turn.task },
    sleeper: {
      description: 'takes its time',
      script: (turn) =>
        new Promise<string>((resolve) => {
          turn.signal.addEventListener('abort', () => resolve('woken'), { once: true })
        }),
    },
    relay: {
      description: 'asks the clerk',
      tools: ['sub_agent'],
      allowSubAgentCalls: true,
      script: async (turn) =>
        JSON.stringify(
          (await turn.tool('sub_agent', { agent_name: 'clerk', task: `for another: ${turn.task}` })).value,
        ),
    },
  },
})
// A server loads it once, when it has time. That takes a moment, which is no stall of an input.
await loadTokenizer()
const watch = (): (() => void) =>
  watchLateness(100, (window) => say({ kind: 'window', window, rssBytes: process.memoryUsage.rss() }))
let stopWatching = watch()

/** What is still held after all that can go has gone. Nobody asked the server for this, so it is no stall. */
process.on('message', () => {
  stopWatching()
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  say({ kind: 'held', bytes: heapUsed + external })
  stopWatching = watch()
})
say({ kind: 'ready', url: served.url })

closeOnSigterm(served)
