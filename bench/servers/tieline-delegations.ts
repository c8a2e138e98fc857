/** `serve()` with many planners, each a persistent agent at `/v1/agents`, and one coder that they call. */
import { exchangeOf } from '../../test/kits/askers.ts'
import { openServer } from '../../src/open-server.ts'
import type { BenchServer } from '../server-process.ts'
import { coderPrompt, createInstantModel, plannerPrompt, createScratch } from '../work.ts'
import { measureLog, noLimits } from './tieline-log.ts'

/** A persistent agent answers one request at a time, so there are enough to avoid queues and long conversations. */
const planners = 1024

export async function start(): Promise<BenchServer> {
  const { workspace, data, remove } = createScratch()
  const names = Array.from({ length: planners }, (_, n) => `planner-${n}`)
  const planner = {
    prompt: plannerPrompt,
    description: 'Plans.',
    tools: ['sub_agent'],
    allowSubAgentCalls: true,
    mayCall: ['coder'],
    languageModel: createInstantModel('planner'),
  }
  const served = await openServer({
    dataDir: data,
    cwd: workspace,
    port: 0,
    host: '127.0.0.1',
    limitsOfHttp: noLimits,
    agents: {
      ...Object.fromEntries(names.map((name) => [name, planner])),
      coder: {
        prompt: coderPrompt,
        description: 'Reads code.',
        tools: ['read'],
        languageModel: createInstantModel('coder', { reading: 'read' }),
      },
    },
  })
  // Create their sessions up front, as for agents that are made by API.
  await Promise.all(names.map((name) => exchangeOf(served.line.desks).agentSession(name)))
  return {
    url: served.url,
    facts: { agents: names },
    commits: () => served.line.store.commits(),
    log: () => measureLog(served.line.store),
    async close() {
      await served.close()
      remove()
    },
  }
}
