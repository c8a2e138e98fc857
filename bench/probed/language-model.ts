/** The model of the probes as AI SDK's provider interface has it, which Tieline takes too. */
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'
import type { Role } from '../work.ts'
import { decideMove, hang, type Probe } from './moves.ts'

const usage = {
  inputTokens: { total: 200, noCache: 200, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 40, text: 40, reasoning: undefined },
}

/** `more` is what else the planner writes into its call. */
export function createProbeModel(probe: Probe, role: Role, more: object = {}): LanguageModelV4 {
  const ask = async ({ prompt, abortSignal }: LanguageModelV4CallOptions) => {
    const move = decideMove(probe, role, readTold(prompt))
    if (move.kind === 'hang') return hang(abortSignal)
    const content: LanguageModelV4Content =
      move.kind === 'text'
        ? { type: 'text', text: move.text }
        : {
            type: 'tool-call',
            toolCallId: `id-${role}`,
            toolName: 'sub_agent',
            input: JSON.stringify({ agent_name: move.to, task: move.task, ...more }),
          }
    const reason = move.kind === 'text' ? 'stop' : 'tool-calls'
    const finishReason: LanguageModelV4FinishReason = { unified: reason, raw: reason }
    return { content, finishReason }
  }
  return {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'probe',
    supportedUrls: {},
    async doGenerate(options) {
      const { content, finishReason } = await ask(options)
      return { content: [content], finishReason, usage, warnings: [] }
    },
    async doStream(options) {
      const { content, finishReason } = await ask(options)
      const parts: LanguageModelV4StreamPart[] =
        content.type === 'text'
          ? [
              { type: 'text-start', id: '0' },
              { type: 'text-delta', id: '0', delta: content.text },
              { type: 'text-end', id: '0' },
            ]
          : [content as LanguageModelV4StreamPart]
      return {
        stream: ReadableStream.from<LanguageModelV4StreamPart>([
          { type: 'stream-start', warnings: [] },
          ...parts,
          { type: 'finish', usage, finishReason },
        ]),
      }
    },
  }
}

function readTold(prompt: LanguageModelV4CallOptions['prompt']): string | null {
  const last = prompt.at(-1)
  if (last?.role !== 'tool') return null
  const [part] = last.content
  if (part?.type !== 'tool-result') return ''
  const { output } = part
  return 'value' in output && typeof output.value === 'string' ? output.value : JSON.stringify(output)
}
