/** OpenAI Agents SDK with an agent as a tool and tracing off. Nothing is durable. */
import {
  Agent,
  Runner,
  setTracingDisabled,
  tool,
  Usage,
  type Model,
  type ModelResponse,
} from '@openai/agents'
import { z } from 'zod'
import {
  coderPrompt,
  expectAnswer,
  fileName,
  nextUserTask,
  plannerPrompt,
  createScratch,
  readTool,
  createTexts,
  type Contender,
  type Role,
} from '../work.ts'

/** The same answers as `createInstantModel`, in the shape of this SDK, where a sub-agent takes only `input`. */
function createAgentsModel(role: Role): Model {
  const texts = createTexts(role)
  const call = () =>
    role === 'planner'
      ? { name: 'sub_agent', arguments: JSON.stringify({ input: texts.task() }) }
      : { name: readTool.name, arguments: JSON.stringify({ path: fileName }) }
  const respond = (output: ModelResponse['output']): ModelResponse => ({
    usage: new Usage({ inputTokens: 200, outputTokens: 40, totalTokens: 240 }),
    output,
  })
  return {
    async getResponse({ input }) {
      const last = typeof input === 'string' ? undefined : input.at(-1)
      return last?.type === 'function_call_result'
        ? respond([
            {
              type: 'message',
              role: 'assistant',
              status: 'completed',
              content: [{ type: 'output_text', text: texts.final() }],
            },
          ])
        : respond([{ type: 'function_call', callId: `id-${role}`, status: 'completed', ...call() }])
    },
    // eslint-disable-next-line require-yield -- The bench never streams from this SDK.
    async *getStreamedResponse() {
      throw new Error('this bench does not stream from the Agents SDK')
    },
  }
}

export async function start(): Promise<Contender> {
  setTracingDisabled(true)
  const { workspace, remove } = createScratch()
  const read = tool({
    name: readTool.name,
    description: readTool.description,
    parameters: z.object({ path: z.string() }),
    execute: ({ path }) => readTool.run(workspace, path),
  })
  const coder = new Agent({
    name: 'coder',
    instructions: coderPrompt,
    model: createAgentsModel('coder'),
    tools: [read],
  })
  const subAgent = coder.asTool({
    toolName: 'sub_agent',
    toolDescription: 'Calls another agent and waits for its result.',
    runConfig: { tracingDisabled: true },
  })
  const planner = new Agent({
    name: 'planner',
    instructions: plannerPrompt,
    model: createAgentsModel('planner'),
    tools: [subAgent],
  })
  const runner = new Runner({ tracingDisabled: true })
  return {
    async one() {
      const result = await runner.run(planner, nextUserTask())
      expectAnswer(result.finalOutput, 'OpenAI Agents')
    },
    commits: () => null,
    close: async () => remove(),
  }
}
