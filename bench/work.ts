/** The work of the delegation benches: one delegation, four instant model answers, one read, the same texts for all. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider'

export const plannerPrompt = 'You plan work and hand it to the coder.'
export const coderPrompt = 'You read code and answer questions about it.'
const userTask = 'Find out which port the server of this project listens on, and tell me.'
const coderTask = 'Read config.txt and say which port the server listens on.'
export const fileName = 'config.txt'
export const fileText = 'name = example\nhost = 127.0.0.1\nport = 8283\nlog = info\n'

/** The one tool of the coder. Every contender runs this function and no other, in its own kind of tool. */
export const readTool = {
  name: 'read_file',
  description: 'Reads a text file of the working directory.',
  run: (workspace: string, path: string): string => readFileSync(join(workspace, path), 'utf8'),
}

/** About a hundred tokens, a usual length for such an answer. */
export const coderAnswer = [
  'The server listens on port 8283, as `config.txt` says in its third line (`port = 8283`).',
  'The host is 127.0.0.1, so it can only be reached from the same machine.',
  'Nothing else in the file changes the port: `log = info` only sets how much is written to the log,',
  'and `name` is shown in the page title.',
  'If you want another port, change that line and restart the server, since the file is read once at the start.',
].join(' ')
export const plannerAnswer =
  'The server listens on port 8283 on 127.0.0.1; to change it, edit config.txt and restart.'

export type Role = 'planner' | 'coder'

/** Every text is new, so that caching whole texts cannot make a figure look good. */
export function createTexts(role: Role): { task(): string; final(): string } {
  let count = 0
  return {
    task: () => `${coderTask} This is request ${(count += 1)}.`,
    final: () => `${role === 'planner' ? plannerAnswer : coderAnswer} (${(count += 1)})`,
  }
}

let tasks = 0
export const nextUserTask = (): string => `${userTask} (${(tasks += 1)})`

const usage: LanguageModelV4Usage = {
  inputTokens: { total: 200, noCache: 200, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 40, text: 40, reasoning: undefined },
}
const stop: LanguageModelV4FinishReason = { unified: 'stop', raw: 'stop' }
const toolCalls: LanguageModelV4FinishReason = { unified: 'tool-calls', raw: 'tool_calls' }

/** A model inside the process that answers at once. `seen` receives every request; `reading` is the coder's tool. */
export function createInstantModel(
  role: Role,
  {
    seen = () => undefined,
    reading = readTool.name,
  }: { seen?: (options: LanguageModelV4CallOptions) => void; reading?: string } = {},
): LanguageModelV4 {
  const texts = createTexts(role)
  const call = (): LanguageModelV4Content => ({
    type: 'tool-call',
    toolCallId: `id-${role}`,
    toolName: role === 'planner' ? 'sub_agent' : reading,
    input: JSON.stringify(
      role === 'planner' ? { agent_name: 'coder', task: texts.task() } : { path: fileName },
    ),
  })
  const callParts = (): LanguageModelV4StreamPart[] => [
    { type: 'stream-start', warnings: [] },
    call() as LanguageModelV4StreamPart,
    { type: 'finish', usage, finishReason: toolCalls },
  ]
  const textParts = (): LanguageModelV4StreamPart[] => [
    { type: 'stream-start', warnings: [] },
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: texts.final() },
    { type: 'text-end', id: '0' },
    { type: 'finish', usage, finishReason: stop },
  ]
  const isDone = ({ prompt }: LanguageModelV4CallOptions): boolean => prompt.at(-1)?.role === 'tool'
  return {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'instant',
    supportedUrls: {},
    async doGenerate(options) {
      seen(options)
      return isDone(options)
        ? { content: [{ type: 'text', text: texts.final() }], finishReason: stop, usage, warnings: [] }
        : { content: [call()], finishReason: toolCalls, usage, warnings: [] }
    },
    async doStream(options) {
      seen(options)
      const parts = isDone(options) ? textParts() : callParts()
      const stream = new ReadableStream<LanguageModelV4StreamPart>({
        start(controller) {
          for (const part of parts) controller.enqueue(part)
          controller.close()
        },
      })
      return { stream }
    },
  }
}

/** One contender. `one` does the work once, and throws if the answer is unexpected. */
export type Contender = {
  one(): Promise<void>
  /** Commits so far; null if nothing is durable. */
  commits(): number | null
  /** What the log has so far, which sizes the bare log. */
  log?(): { events: number; bytes: number }
  close(): Promise<void>
}

/** Creates a directory with the file that is read, and another one for data. */
export function createScratch(): { workspace: string; data: string; remove: () => void } {
  const data = mkdtempSync(join(tmpdir(), 'tieline-bench-data-'))
  const workspace = mkdtempSync(join(tmpdir(), 'tieline-bench-work-'))
  writeFileSync(join(workspace, fileName), fileText)
  const remove = (): void => {
    for (const path of [data, workspace]) rmSync(path, { recursive: true, force: true })
  }
  return { workspace, data, remove }
}

export function expectAnswer(answer: unknown, of: string): void {
  if (typeof answer !== 'string' || !answer.startsWith(plannerAnswer))
    throw new Error(`${of} answered ${JSON.stringify(answer)} instead of the planner's text`)
}
