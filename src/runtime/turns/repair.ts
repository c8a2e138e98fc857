/**
 * `output_schema`: the output must satisfy it. One repair attempt in the same turn, then `output_invalid`.
 */
import type { EventOf } from '../../model/event.ts'
import { unwrapFence } from '../../model/final-answer.ts'
import { frameLines, frameUnder } from '../../model/frame.ts'
import { exceededBound } from '../../model/json-head.ts'
import type { Json } from '../../model/json.ts'
import { outputSchemaBounds } from '../../model/limits.ts'
import { badInput, explain, type Refusal } from '../../model/refusal.ts'
import { countGently, cutTokensGently } from '../../model/text.ts'
import type { Runtime } from './runtime.ts'
import type { Schemas, TurnInput, TurnOutcome } from '../kernel/ports.ts'
import { makeStepKey } from '../kernel/recorded.ts'
import type { Running } from '../kernel/running.ts'

type Again = (input: TurnInput) => Pick<TurnInput, 'prompt' | 'attempt'>

export async function repaired(
  runtime: Runtime,
  running: Running,
  first: TurnOutcome,
  run: (again: Again) => Promise<TurnOutcome>,
): Promise<TurnOutcome> {
  const opened = running.input.type === 'call.opened' ? running.input : null
  if (opened === null || opened.outputSchema === null || first.outcome !== 'completed') return first
  const { outputSchema: schema, told = false } = opened
  const unwrapped = told ? { ...first, output: unwrapFence(first.output) } : first
  const problems = await findProblems(runtime, running, schema, unwrapped.output, 1)
  if (problems.length === 0) return unwrapped
  const again = await renderRepair(runtime, opened, first.output, problems)
  if (again === null)
    return invalid(unwrapped, problems, told, 'max_context_tokens leaves no room to ask it again')
  const second = await run((input) => ({ attempt: 2, prompt: `${input.prompt}\n${again}` }))
  if (second.outcome !== 'completed') return second
  const last = told ? { ...second, output: unwrapFence(second.output) } : second
  const left = await findProblems(runtime, running, schema, last.output, 2)
  return left.length === 0 ? last : invalid(last, left, told)
}

/** The last attempt is the output; in 0.1.0 all that had been said was. */
const invalid = (last: TurnOutcome, problems: string[], told: boolean, more?: string): TurnOutcome => ({
  ...last,
  outcome: 'failed',
  error:
    `output_invalid: ${explain({ code: 'output_invalid', problems })}` +
    (more === undefined ? '' : ` (${more})`),
  ...(told && { whole: true }),
})

/**
 * What is asked the second time, below what was asked before. R8: it stays within what the child may receive; an
 * answer that is too long is shown in part. Null where there is no room for it.
 */
async function renderRepair(
  { count }: Runtime,
  opened: EventOf<'call.opened'>,
  answer: string,
  problems: readonly string[],
): Promise<string | null> {
  const boundary = opened.boundary ?? null
  const render = (shown: string): string =>
    [
      '',
      `${frameUnder(boundary, 'Your last answer was:', shown)}\n`,
      ...(opened.told === true
        ? ['It must be JSON that satisfies the schema above, and nothing else.']
        : [
            'It must be JSON that satisfies this schema, and nothing else:',
            frameLines(boundary, JSON.stringify(opened.outputSchema)),
          ]),
      frameLines(boundary, `Problems: ${problems.join('; ')}`),
    ].join('\n')
  // What 0.1.0 recorded was not bounded.
  if (opened.told !== true) return render(answer)
  const { tokens, tokensMax } = opened.context
  const room = tokensMax - tokens - (await countGently(count, render('')))
  if (room < 0) return null
  const cut = await cutTokensGently(answer, room, count, '…')
  const text = render(cut.text)
  return tokens + (await countGently(count, text)) <= tokensMax ? text : render('')
}

/** The name under which a check that did not finish is in the record. */
export const checkStep = 'output_schema'
export const checkKey = (attempt: number): string => makeStepKey('tool', checkStep, { attempt })

/**
 * R10: whether a check ends in time depends on the machine, so one that did not is recorded, and found again
 * when the turn runs again.
 */
async function findProblems(
  runtime: Runtime,
  running: Running,
  schema: Json,
  output: string,
  attempt: number,
): Promise<string[]> {
  const key = checkKey(attempt)
  const input = { attempt }
  const known = running.recorded?.step(key, { kind: 'tool', name: checkStep, input })
  if (known?.type === 'step.ended') return known.output as string[]
  const startedAt = runtime.clock.now()
  const check = await runtime.schemas.check(schema, output, {
    owner: running.row.flow,
    signal: running.abort.signal,
  })
  if (check.kind === 'checked') return check.problems
  const problems = [check.kind === 'refused' ? explain(check.refusal) : check.why]
  if (check.kind === 'unfinished') {
    const { session, id: turn } = running.row
    running.buffer.push({
      type: 'step.ended',
      session,
      turn,
      kind: 'tool',
      name: checkStep,
      key,
      input,
      ok: false,
      output: problems,
      usage: null,
      startedAt,
    })
  }
  return problems
}

/** Why a schema cannot be used; null if it can. Asked before a call opens. */
export async function refuseSchema(
  schemas: Schemas,
  schema: Json | undefined,
  owner: string,
  signal: AbortSignal,
): Promise<Refusal | null> {
  if (schema === undefined || schema === null) return null
  if (typeof schema !== 'object' || Array.isArray(schema))
    return badInput('output_schema', schema, 'a JSON Schema object')
  const { bytesMax, depthMax } = outputSchemaBounds
  const exceeded = exceededBound(schema, { bytesMax, depthMax })
  if (exceeded === 'bytesMax')
    return refuse(`a schema of more than ${bytesMax} bytes`, `one of at most ${bytesMax} bytes`)
  if (exceeded === 'depthMax')
    return refuse(`a schema nested more than ${depthMax} levels deep`, `one of at most ${depthMax} levels`)
  const check = await schemas.check(schema, null, { owner, signal })
  if (check.kind === 'checked') return null
  return check.kind === 'refused'
    ? check.refusal
    : badInput('output_schema', schema, `a simpler JSON Schema, or a later try (${check.why})`)
}

const refuse = (given: string, expected: string): Refusal => ({
  code: 'bad_input',
  field: 'output_schema',
  given,
  expected,
})
