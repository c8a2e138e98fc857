/**
 * Tieline through its public entry, with the SQLite store on disk and a new session for each delegation. With
 * `ownRead` the coder has the tool `read` that comes with it, which keeps to the session's directory and numbers
 * lines, instead of the function that everybody runs.
 */
import { z } from 'zod'
import { defineTool } from '../../src/define.ts'
import { openLine } from '../../src/open-line.ts'
import {
  coderPrompt,
  expectAnswer,
  createInstantModel,
  nextUserTask,
  plannerPrompt,
  createScratch,
  readTool,
  type Contender,
} from '../work.ts'

export async function start(ownRead = false): Promise<Contender> {
  const { workspace, data, remove } = createScratch()
  const reading = ownRead ? 'read' : readTool.name
  const readFile = defineTool({
    name: readTool.name,
    description: readTool.description,
    input: z.object({ path: z.string() }),
    effect: 'read',
    run: ({ path }) => readTool.run(workspace, path),
  })
  const line = await openLine({
    dataDir: data,
    cwd: workspace,
    tools: [readFile],
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
        tools: [reading],
        languageModel: createInstantModel('coder', { reading }),
      },
    },
  })
  return {
    async one() {
      const result = await line.run('planner', nextUserTask())
      expectAnswer(result.output, 'Tieline')
    },
    commits: () => line.store.commits(),
    log: () =>
      line.store.db
        .prepare(
          `select coalesce(max(seq), 0) as events, coalesce(sum(length(cast(events as blob))), 0) as bytes
            from log`,
        )
        .get() as { events: number; bytes: number },
    async close() {
      await line.close()
      remove()
    },
  }
}
