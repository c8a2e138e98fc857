/** AI SDK 7 with a sub-agent as a tool, as in its documentation. Nothing is durable. */
import { generateText, isStepCount, tool } from 'ai'
import { z } from 'zod'
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

export async function start(): Promise<Contender> {
  const { workspace, remove } = createScratch()
  const plannerModel = createInstantModel('planner')
  const coderModel = createInstantModel('coder')
  const read = tool({
    description: readTool.description,
    inputSchema: z.object({ path: z.string() }),
    execute: ({ path }) => readTool.run(workspace, path),
  })
  const subAgent = tool({
    description: 'Calls another agent and waits for its result.',
    inputSchema: z.object({ agent_name: z.string(), task: z.string() }),
    async execute({ task }, { abortSignal }) {
      const { text } = await generateText({
        model: coderModel,
        instructions: coderPrompt,
        prompt: task,
        tools: { [readTool.name]: read },
        stopWhen: isStepCount(16),
        ...(abortSignal === undefined ? {} : { abortSignal }),
      })
      return text
    },
  })
  return {
    async one() {
      const { text } = await generateText({
        model: plannerModel,
        instructions: plannerPrompt,
        prompt: nextUserTask(),
        tools: { sub_agent: subAgent },
        stopWhen: isStepCount(16),
      })
      expectAnswer(text, 'AI SDK')
    },
    commits: () => null,
    close: async () => remove(),
  }
}
