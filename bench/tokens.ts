/** How many tokens a delegation adds to the context of the caller and the callee, compared with AI SDK. */
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { generateText, isStepCount, tool } from 'ai'
import { z } from 'zod'
import { tieline } from '../src/index.ts'
import { loadTokenizer } from '../src/adapters/tokens/tokenizer.ts'
import type { Progress } from './progress.ts'
import { formatNumber, formatRatio, requireAtMost, type Part } from './report.ts'
import { coderPrompt, createInstantModel, nextUserTask, plannerPrompt, createScratch } from './work.ts'

type Seen = LanguageModelV4CallOptions

/** What the planner reads of its tool: only the content of the result, as a provider sends it. */
function extractToolResult(seen: readonly Seen[]): string {
  const message = seen.at(-1)?.prompt.at(-1)
  if (message?.role !== 'tool') throw new Error('the planner was not given a result')
  const [part] = message.content
  if (part?.type !== 'tool-result') throw new Error('the planner was not given a result')
  const { output } = part
  return output.type === 'text' || output.type === 'error-text'
    ? output.value
    : 'value' in output
      ? JSON.stringify(output.value)
      : ''
}

const extractTexts = (seen: Seen | undefined): string[] =>
  (seen?.prompt ?? []).map((message) =>
    typeof message.content === 'string'
      ? message.content
      : message.content.map((part) => (part.type === 'text' ? part.text : '')).join(''),
  )

function extractTask(input: unknown): string {
  if (typeof input === 'object' && input !== null && 'task' in input && typeof input.task === 'string')
    return input.task
  throw new Error('the planner made no call')
}

/** The caller has a long history, none of which may reach the callee unasked. */
async function ours(): Promise<{ result: string; child: string[]; task: string }> {
  const { workspace, remove } = createScratch()
  const planner: Seen[] = []
  const coder: Seen[] = []
  const keep =
    (list: Seen[]) =>
    (options: Seen): void =>
      void list.push({ ...options, prompt: structuredClone(options.prompt) })
  const line = await tieline({
    cwd: workspace,
    agents: {
      planner: {
        prompt: plannerPrompt,
        tools: ['sub_agent'],
        allowSubAgentCalls: true,
        languageModel: createInstantModel('planner', { seen: keep(planner) }),
      },
      coder: {
        prompt: coderPrompt,
        tools: ['read'],
        languageModel: createInstantModel('coder', { seen: keep(coder), reading: 'read' }),
      },
    },
  })
  try {
    let session: string | null = null
    for (let turn = 0; turn < 5; turn += 1)
      session = (await line.run('planner', nextUserTask(), session === null ? {} : { session })).session
    const asked = planner.at(-1)?.prompt.findLast((message) => message.role === 'assistant')
    const call =
      asked?.role === 'assistant' ? asked.content.find((part) => part.type === 'tool-call') : undefined
    return {
      result: extractToolResult(planner),
      child: extractTexts(coder.at(-2)),
      task: extractTask(call?.input),
    }
  } finally {
    await line.close()
    remove()
  }
}

async function aiSdk(): Promise<string> {
  const planner: Seen[] = []
  const coderModel = createInstantModel('coder', { reading: 'read' })
  const read = tool({
    description: 'Reads a file.',
    inputSchema: z.object({ path: z.string() }),
    execute: async () => 'port = 8283',
  })
  const subAgent = tool({
    description: 'Calls another agent.',
    inputSchema: z.object({ agent_name: z.string(), task: z.string() }),
    execute: async ({ task }) =>
      (await generateText({ model: coderModel, prompt: task, tools: { read }, stopWhen: isStepCount(8) }))
        .text,
  })
  await generateText({
    model: createInstantModel('planner', {
      seen: (options) => void planner.push({ ...options, prompt: structuredClone(options.prompt) }),
    }),
    prompt: nextUserTask(),
    tools: { sub_agent: subAgent },
    stopWhen: isStepCount(8),
  })
  return extractToolResult(planner)
}

export async function tokens(progress: Progress): Promise<Part> {
  progress.part('tokens', 1)
  const count = await loadTokenizer()
  const [mine, theirs] = [await ours(), count(await aiSdk())]
  const result = count(mine.result)
  const child = mine.child.reduce((sum, text) => sum + count(text), 0)
  const needed = count(coderPrompt) + count(mine.task)
  progress.step('counted')
  return {
    name: 'tokens',
    notes: [`What our planner's model reads: ${mine.result}`],
    checks: [
      requireAtMost("the caller's context grows against AI SDK's", result / theirs, 1.5, '×'),
      requireAtMost('tokens that the child receives beyond prompt and task', child - needed, 15),
    ],
    tables: [
      {
        title: 'Tokens (o200k_base) of one delegation',
        columns: ['', 'Tieline', 'AI SDK 7', 'ratio'],
        rows: [
          [
            'result that the planner reads',
            formatNumber(result),
            formatNumber(theirs),
            formatRatio(result / theirs),
          ],
          ['child: prompt and task', formatNumber(needed), '', ''],
          ['child: everything it receives', formatNumber(child), '', ''],
        ],
      },
    ],
  }
}
