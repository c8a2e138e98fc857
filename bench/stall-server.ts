/**
 * The server whose stalls are measured: its agents give the largest results, and use any tool with the
 * largest input.
 */
import { watchLateness } from './lateness.ts'
import { bodyUnits, fill } from './stall-texts.ts'
import { toolInputs, type ToolInputs } from './stall-tools.ts'
import type { Said } from '../hostile/victim-process.ts'
import { openServer } from '../src/open-server.ts'

const [dataDir = '', cwd = '', , port = '0'] = process.argv.slice(2)
const say = (said: Said): void =>
  void (process.connected && process.send?.(said, undefined, undefined, () => undefined))
let inputs: ToolInputs = toolInputs({ session: '', target: '', call: '' })

const served = await openServer({
  dataDir,
  cwd,
  port: Number(port),
  host: '127.0.0.1',
  limitsOfHttp: { requestsPerMinute: 1e9 },
  limits: { callsPerMinute: 1e6, messagesPerMinute: 1e6, descendantsPerFlowMax: 1e6 },
  agents: {
    clerk: { description: 'files letters', script: () => 'filed' },
    echo: { description: 'says what it is told', script: (turn) => turn.task },
    shout: { description: 'says it very often', script: (turn) => fill(turn.task, bodyUnits) },
    /** `prepare <session> <target> <call>`, or `use <tool> / <input>`. */
    worker: {
      description: 'uses tools',
      tools: Object.keys(inputs),
      allowSubAgentCalls: true,
      script: async (turn) => {
        const [, session = '', target = '', call = ''] = /^prepare (\S+) (\S+) (\S+)$/.exec(turn.task) ?? []
        if (session !== '') inputs = toolInputs({ session, target, call })
        const [, tool = '', name = ''] = /^use (\S+) \/ (.+)$/.exec(turn.task) ?? []
        if (tool === '') return 'prepared'
        const { ok } = await turn.tool(tool, (inputs[tool]?.[name] ?? null) as never)
        return `${tool}: ${ok ? 'served' : 'refused'}`
      },
    },
  },
})
watchLateness(100, (window) => say({ kind: 'window', window, rssBytes: process.memoryUsage.rss() }))
say({ kind: 'ready', url: served.url })
process.on('SIGTERM', () => void served.close().then(() => process.exit(0)))
