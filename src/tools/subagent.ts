/**
 * `subagent`: a bounded delegation to a fresh copy with its own context, and a result whose shape never
 * changes.
 */
import { z } from 'zod'
import { artifactKindsDefault, readFinalAnswer, type FinalAnswer } from '../model/final-answer.ts'
import { countGently, type CountTokens } from '../model/text.ts'
import { subagentIterationsDefault, subagentIterationsMax } from '../model/limits.ts'
import { cutResult, toMs } from '../runtime/calls/sub-agent.ts'
import type { CallResult, Tool } from '../runtime/kernel/ports.ts'
import { Task } from './answer.ts'
import { callingTool } from './calling.ts'

const Input = z.strictObject({
  task: Task.describe('what it should do, complete in itself'),
  context: z.string().optional().describe('what it needs to know'),
  files: z.array(z.string().min(1)).max(200).optional().describe('paths that it should look at'),
  max_iterations: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe(`default ${subagentIterationsDefault}, at most ${subagentIterationsMax}`),
  timeout_seconds: z.number().min(0).optional().describe('default 120'),
})

export const ArtifactKind = z.enum(artifactKindsDefault)
export type ArtifactKind = z.infer<typeof ArtifactKind>

export const subagentTool = (count: CountTokens, kinds: readonly ArtifactKind[]): Tool =>
  callingTool({
    name: 'subagent',
    description:
      'Delegates one bounded piece of work to a fresh agent that sees only what you pass here, and answers with a ' +
      'summary and artifacts. For an agent of your choice use sub_agent.',
    input: Input,
    request: ({ task, context, files = [], max_iterations: maxIterations, timeout_seconds: seconds }) => ({
      target: { agent: '' },
      task,
      attachment: context === undefined ? null : `Context: ${context}`,
      files,
      timeoutMs: toMs(seconds),
      maxIterations,
    }),
    async render(result, shownTokens) {
      const final = await renderFinal(result, shownTokens, kinds, count)
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

/** The turn has read its own answer already: what 0.1.0 recorded is read here. */
async function renderFinal(
  result: CallResult,
  tokensMax: number,
  kinds: readonly string[],
  count: CountTokens,
): Promise<Rendered> {
  const failed = result.outcome !== 'completed'
  const final = failed ? { summary: result.output, artifacts: [] } : readFinalAnswer(result.output, kinds)
  if (typeof final === 'string') return malformed(final)
  const error = failed ? (result.errors[0] ?? result.outcome) : null
  const isMalformed = failed && error?.startsWith('output_invalid') === true
  const shownAnswer = await showFinal(
    isMalformed ? { summary: '', artifacts: [] } : final,
    result,
    tokensMax,
    count,
  )
  return { ...shownAnswer, error }
}

/** Of the budget: what a note about the rest takes, what an artifact takes besides its value, what is worth showing. */
const [noteTokens, artifactTokens, valueTokensMin] = [70, 12, 40]

/** All of it shares one budget: the summary has at least half of it, artifacts the rest, in order. */
async function showFinal(
  { summary, artifacts }: FinalAnswer,
  result: CallResult,
  tokensMax: number,
  count: CountTokens,
): Promise<Omit<Rendered, 'error'>> {
  const show = (text: string, most: number) => cutResult({ ...result, output: text }, most, count)
  const most = artifacts.length === 0 ? tokensMax : Math.max(0, tokensMax - noteTokens)
  const whole = await countGently(count, summary)
  const wanted = artifacts.length * (artifactTokens + valueTokensMin)
  const head = await show(summary, Math.max(Math.floor(most / 2), Math.min(whole, most - wanted)))
  let left = most - Math.min(whole, await countGently(count, head.text))
  const kept: Artifact[] = []
  let truncated = head.truncated
  for (const { kind, value } of artifacts) {
    const room = left - artifactTokens
    if (room < valueTokensMin && (await countGently(count, value)) > room) break
    const cut = await show(value, room)
    kept.push({ kind, value: cut.text })
    truncated ||= cut.truncated
    left = room - (await countGently(count, cut.text))
  }
  const missing = artifacts.length - kept.length
  const rest =
    `[… ${missing} of ${artifacts.length} artifacts are not shown; ` +
    `read_output with call_id "${result.call}" reads the whole answer …]`
  return missing === 0
    ? { summary: head.text, artifacts: kept, truncated }
    : { summary: `${head.text}\n${rest}`, artifacts: kept, truncated: true }
}

const malformed = (why: string): Rendered => ({
  summary: '',
  artifacts: [],
  error: `output_invalid: the subagent's answer is malformed: ${why}`,
  truncated: false,
})
