/** `serve()` with many planners, each a persistent agent at `/v1/agents`, and one coder that they call. */
import { exchangeOf } from '../../test/exchange-kit.ts'
import { serve } from '../../src/serve.ts'
import type { BenchServer } from '../server-process.ts'
import { coderPrompt, instantModel, plannerPrompt, scratch } from '../work.ts'
import { logOf, noLimits } from './tieline-log.ts'

/**
 * A persistent agent has one conversation and answers one at a time, so there are many of them: none has a
 * queue, and none a long conversation.
 */
const planners = 1024

export async function start(): Promise<BenchServer> {
  const { workspace, data, remove } = scratch()
  const names = Array.from({ length: planners }, (_, n) => `planner-${n}`)
  const planner = {
    prompt: plannerPrompt,
    description: 'Plans.',
    tools: ['sub_agent'],
    allowSubAgentCalls: true,
    mayCall: ['coder'],
    languageModel: instantModel('planner'),
  }
  const served = await serve({
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
        languageModel: instantModel('coder'),
      },
    },
  })
  // Their sessions are there from the start, as those of agents that were made by API.
  await Promise.all(names.map((name) => exchangeOf(served.line.desks).agentSession(name)))
  return {
    url: served.url,
    facts: { agents: names },
    commits: () => served.line.store.commits(),
    log: () => logOf(served.line.store),
    async close() {
      await served.close()
      remove()
    },
  }
}
