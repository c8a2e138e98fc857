/**
 * `subagent`: a bounded delegation to a fresh copy with its own context, and a result whose shape never
 * changes.
 */
import { z } from 'zod'
import { parseJson } from '../model/bounded-json.ts'
import { Json } from '../model/json.ts'
import { isRefusal } from '../model/refusal.ts'
import type { CountTokens } from '../model/text.ts'
import { subagentIterationsDefault } from '../model/limits.ts'
import type { CallResult, Tool } from '../runtime/kernel/ports.ts'
import { Task } from './answer.ts'
import { callingTool, shown, toMs } from './calling.ts'

const Input = z.strictObject({
  task: Task.describe('what it should do, complete in itself'),
  context: z.string().optional().describe('what it needs to know'),
  files: z.array(z.string().min(1)).max(200).optional().describe('paths that it should look at'),
  max_iterations: z.number().int().min(1).optional().describe(`default ${subagentIterationsDefault}`),
  timeout_seconds: z.number().min(0).optional(),
})

export const ArtifactKind = z.enum(['note', 'path', 'diff', 'json'])
export type ArtifactKind = z.infer<typeof ArtifactKind>
/** What the caller is shown of them shares one budget; all of it is in the record. */
const artifactsMax = 50

const Final = z.strictObject({
  summary: z.string(),
  artifacts: z.array(z.strictObject({ kind: z.string(), value: Json })).default([]),
})

export const subagentTool = (count: CountTokens, kinds: readonly ArtifactKind[]): Tool =>
  callingTool({
    name: 'subagent',
    description:
      'Delegates one bounded piece of work to a fresh agent that sees only what you pass here. ' +
      'Answers with a summary and artifacts.',
    input: Input,
    request: ({ task, context, files = [], max_iterations: maxIterations, timeout_seconds: seconds }) => {
      const attached = [
        ...(context === undefined ? [] : [`Context: ${context}`]),
        ...(files.length === 0 ? [] : ['Files:', ...files.map((file) => `- ${file}`)]),
      ]
      return {
        target: { agent: '' },
        task,
        attachment: attached.length === 0 ? null : attached.join('\n'),
        timeoutMs: toMs(seconds),
        maxIterations,
      }
    },
    async render(result, shownTokens) {
      const show = async (output: string, tokensMax = shownTokens) =>
        shown({ ...result, output }, tokensMax, count)
      const final = await renderFinal(result, shownTokens, kinds, show)
      const success = result.outcome === 'completed' && final.error === null
      return {
        ok: success,
        value: {
          success,
          summary: final.summary,
          artifacts: final.artifacts,
          error: final.error,
          timed_out: result.outcome === 'timed_out',
          duration_ms: result.durationMs,
          truncated: final.truncated,
          iterations: result.iterations,
          correlation_id: result.call,
        },
      }
    },
  })

type Artifact = { kind: string; value: string }
type Rendered = { summary: string; artifacts: Artifact[]; error: string | null; truncated: boolean }
type Show = (output: string, tokensMax?: number) => ReturnType<typeof shown>

/** An answer that starts with `{` must be `{ summary, artifacts }`; other text is the summary. */
async function renderFinal(
  result: CallResult,
  tokensMax: number,
  kinds: readonly string[],
  show: Show,
): Promise<Rendered> {
  const failed = result.outcome !== 'completed'
  const output = result.output.trim()
  if (failed || !output.startsWith('{')) {
    const { text: summary, truncated } = await show(result.output)
    return { summary, artifacts: [], error: failed ? (result.errors[0] ?? result.outcome) : null, truncated }
  }
  const parsed = parse(output)
  if (parsed === null) return malformed('it is not { summary, artifacts }')
  const foreign = parsed.artifacts.find(({ kind }) => !kinds.includes(kind))
  if (foreign !== undefined)
    return malformed(`artifact kind "${foreign.kind}" is not one of ${kinds.join(', ')}`)
  const summary = await show(parsed.summary)
  const kept = parsed.artifacts.slice(0, artifactsMax)
  const share = Math.floor(tokensMax / Math.max(1, kept.length))
  const cuts = await Promise.all(
    kept.map(({ value }) => show(typeof value === 'string' ? value : JSON.stringify(value), share)),
  )
  return {
    summary: summary.text,
    artifacts: kept.map(({ kind }, at) => ({ kind, value: cuts[at]?.text ?? '' })),
    error: null,
    truncated: parsed.artifacts.length > artifactsMax || [summary, ...cuts].some((cut) => cut.truncated),
  }
}

const malformed = (why: string): Rendered => ({
  summary: '',
  artifacts: [],
  error: `output_invalid: the subagent's answer is malformed: ${why}`,
  truncated: false,
})

function parse(output: string): z.output<typeof Final> | null {
  const parsed = parseJson(output, 'answer')
  return isRefusal(parsed) ? null : (Final.safeParse(parsed.value).data ?? null)
}
