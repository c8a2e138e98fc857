/** Tieline through its public entry, with the SQLite store on disk and a new session for each delegation. */
import { openLine } from '../../src/open-line.ts'
import {
  coderPrompt,
  expectAnswer,
  createInstantModel,
  nextUserTask,
  plannerPrompt,
  createScratch,
  type Contender,
} from '../work.ts'

export async function start(): Promise<Contender> {
  const { workspace, data, remove } = createScratch()
  const line = await openLine({
    dataDir: data,
    cwd: workspace,
    agents: {
      planner: {
        prompt: plannerPrompt,
        description: 'Plans.',
        tools: ['sub_agent'],
        allowSubAgentCalls: true,
        languageModel: createInstantModel('planner'),
      },
      coder: {
        prompt: coderPrompt,
        description: 'Reads code.',
        tools: ['read'],
        languageModel: createInstantModel('coder'),
      },
    },
  })
  return {
    async one() {
      const result = await line.run('planner', nextUserTask())
      expectAnswer(result.output, 'Tieline')
    },
    commits: () => line.store.commits(),
    logBytes: () =>
      (
        line.store.db
          .prepare('select coalesce(sum(length(cast(events as blob))), 0) as bytes from log')
          .get() as { bytes: number }
      ).bytes,
    async close() {
      await line.close()
      remove()
    },
  }
}
