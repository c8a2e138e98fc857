/** `serve()` with agents whose model never answers, for callers that disconnect. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openServer } from '../../src/open-server.ts'
import type { BenchServer } from '../server-process.ts'
import { createScratch } from '../work.ts'
import { noLimits } from './tieline-log.ts'

export async function start(): Promise<BenchServer> {
  const { workspace, data, remove } = createScratch()
  const config = join(workspace, 'tieline.json')
  process.env['BENCH_KEY'] = 'none'
  writeFileSync(
    config,
    JSON.stringify({
      providers: {
        fake: { kind: 'openai-compatible', baseURL: process.env['BENCH_MODEL_URL'], apiKeyEnv: 'BENCH_KEY' },
      },
      agents: {
        boss: {
          prompt: 'You are the boss.',
          model: 'fake/m',
          tools: ['sub_agent'],
          allowSubAgentCalls: true,
        },
        worker: { prompt: 'You are the worker.', model: 'fake/m' },
      },
    }),
  )
  const served = await openServer({
    config,
    dataDir: data,
    cwd: workspace,
    port: 0,
    host: '127.0.0.1',
    limitsOfHttp: noLimits,
  })
  return {
    url: served.url,
    async close() {
      await served.close()
      remove()
    },
  }
}
