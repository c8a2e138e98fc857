/** AI SDK 7 with a sub-agent as a tool, as in its documentation. Nothing is durable. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generateText, isStepCount, tool } from 'ai'
import { z } from 'zod'
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
  const { workspace, remove } = createScratch()
  const plannerModel = createInstantModel('planner')
  const coderModel = createInstantModel('coder')
  const read = tool({
    description: 'Reads a text file of the working directory.',
    inputSchema: z.object({ path: z.string() }),
    execute: ({ path }) => readFile(join(workspace, path), 'utf8'),
  })
  const subAgent = tool({
    description: 'Calls another agent and waits for its result.',
    inputSchema: z.object({ agent_name: z.string(), task: z.string() }),
    async execute({ task }, { abortSignal }) {
      const { text } = await generateText({
        model: coderModel,
        instructions: coderPrompt,
        prompt: task,
        tools: { read },
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
