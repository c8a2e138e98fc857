/**
 * `subagent`: a bounded delegation to a fresh copy with its own context, and a result whose shape never
 * changes.
 */
import { z } from 'zod'
import { parseJson } from '../model/bounded-json.ts'
import { Json } from '../model/json.ts'
import { refusalOfZod, isRefusal } from '../model/refusal.ts'
import type { CountTokens } from '../model/text.ts'
import { subagentIterationsDefault } from '../model/limits.ts'
import type { CallRequest, CallResult, Tool, ToolAnswer } from '../runtime/kernel/ports.ts'
import { toJsonSchema, once } from './answer.ts'
import { shown } from './calling.ts'

const Input = z.strictObject({
  task: z
    .string()
    .refine((task) => task.trim() !== '', 'a text that says what to do')
    .describe('what it should do, complete in itself'),
  context: z.string().optional().describe('what it needs to know'),
  files: z.array(z.string().min(1)).max(200).optional().describe('paths that it should look at'),
  max_iterations: z.number().int().min(1).optional().describe(`default ${subagentIterationsDefault}`),
  timeout_seconds: z.number().min(0).optional(),
})

export const ArtifactKind = z.enum(['note', 'path', 'diff', 'json'])
export type ArtifactKind = z.infer<typeof ArtifactKind>
/** What the caller is shown of them shares one budget; all of it is in the record. */
const artifactsMax = 50

type Artifact = { kind: ArtifactKind; value: string }

const Final = z.strictObject({
  summary: z.string(),
  artifacts: z.array(z.strictObject({ kind: z.string(), value: Json })).default([]),
})

const schema = once(() => toJsonSchema(Input))

export function subagentTool(count: CountTokens, kinds: readonly ArtifactKind[]): Tool {
  return {
    name: 'subagent',
    effect: 'call',
    calling: true,
    describe: () => ({
      name: 'subagent',
      description:
        'Delegates one bounded piece of work to a fresh agent that sees only what you pass here. Answers with a summary and artifacts.',
      input: schema(),
    }),
    async run(input, context) {
      const parsed = Input.safeParse(input)
      if (!parsed.success)
        return this.refuse?.(refusalOfZod(parsed.error, input), input, context) as Promise<ToolAnswer>
      const result = await context.acts.call(requestOf(parsed.data), context.stepKey)
      if (result.outcome === null) throw new Error('subagent is never called in the background')
      return renderSubagentAnswer(result, context.shownTokens, count, kinds)
    },
    refuse: async (refusal, input, context) =>
      renderSubagentAnswer(
        await context.acts.refuse('subagent', input, refusal, context.stepKey),
        context.shownTokens,
        count,
        kinds,
      ),
  }
}

function requestOf(input: z.output<typeof Input>): CallRequest {
  const attachment = [
    input.context === undefined ? '' : `Context: ${input.context}`,
    input.files === undefined || input.files.length === 0
      ? ''
      : `Files:\n${input.files.map((file) => `- ${file}`).join('\n')}`,
  ]
  const attached = attachment.filter((part) => part !== '').join('\n')
  return {
    tool: 'subagent',
    target: { agent: '' },
    task: input.task,
    input: undefined,
    context: null,
    attachment: attached === '' ? null : attached,
    maxContextTokens: undefined,
    allowedTools: null,
    nested: true,
    timeoutMs: input.timeout_seconds === undefined ? undefined : input.timeout_seconds * 1000,
    maxIterations: input.max_iterations,
    maxTokens: undefined,
    outputSchema: undefined,
    background: false,
  }
}

/** Canonical key order, the same keys in every outcome. */
export async function renderSubagentAnswer(
  result: CallResult,
  tokensMax: number,
  count: CountTokens,
  kinds: readonly ArtifactKind[],
): Promise<ToolAnswer> {
  const final =
    result.outcome === 'completed'
      ? await finalOf(result, tokensMax, count, kinds)
      : {
          ...(await shortOf(result, tokensMax, count)),
          artifacts: [],
          error: result.errors[0] ?? result.outcome,
        }
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
}

type Worded = { summary: string; artifacts: Artifact[]; error: string | null; truncated: boolean }

async function shortOf(
  result: CallResult,
  tokensMax: number,
  count: CountTokens,
): Promise<{ summary: string; truncated: boolean }> {
  const { text, truncated } = await shown(result, tokensMax, count)
  return { summary: text, truncated }
}

/** An answer that starts with `{` must be `{ summary, artifacts }`; other text is the summary. */
async function finalOf(
  result: CallResult,
  tokensMax: number,
  count: CountTokens,
  kinds: readonly ArtifactKind[],
): Promise<Worded> {
  const output = result.output.trim()
  if (!output.startsWith('{'))
    return { ...(await shortOf(result, tokensMax, count)), artifacts: [], error: null }
  const parsed = parse(output)
  if (parsed === null) return malformed('it is not { summary, artifacts }')
  const foreign = parsed.artifacts.find(({ kind }) => !kinds.includes(kind as ArtifactKind))
  if (foreign !== undefined)
    return malformed(`artifact kind "${foreign.kind}" is not one of ${kinds.join(', ')}`)
  const summary = await shortOf({ ...result, output: parsed.summary }, tokensMax, count)
  const artifacts = await Promise.all(
    parsed.artifacts.slice(0, artifactsMax).map(async ({ kind, value }) => {
      const cut = await shortOf(
        { ...result, output: typeof value === 'string' ? value : JSON.stringify(value) },
        Math.floor(tokensMax / Math.max(1, Math.min(parsed.artifacts.length, artifactsMax))),
        count,
      )
      return { kind: kind as ArtifactKind, value: cut.summary, truncated: cut.truncated }
    }),
  )
  const truncated =
    summary.truncated ||
    parsed.artifacts.length > artifactsMax ||
    artifacts.some((artifact) => artifact.truncated)
  return {
    summary: summary.summary,
    artifacts: artifacts.map(({ kind, value }) => ({ kind, value })),
    error: null,
    truncated,
  }
}

const malformed = (why: string): Worded => ({
  summary: '',
  artifacts: [],
  error: `output_invalid: the subagent's answer is malformed: ${why}`,
  truncated: false,
})

function parse(output: string): z.output<typeof Final> | null {
  const parsed = parseJson(output, 'answer')
  // Text that only looks like JSON is malformed, and is reported as that.
  return isRefusal(parsed) ? null : (Final.safeParse(parsed.value).data ?? null)
}
