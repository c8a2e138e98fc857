/**
 * `output_schema`: the output must satisfy it. One repair attempt in the same turn, then `output_invalid`.
 */
import { frameLines, frameUnder } from '../../model/frame.ts'
import { exceededBound } from '../../model/json-size.ts'
import type { Json } from '../../model/json.ts'
import { outputSchemaBounds } from '../../model/limits.ts'
import { badInput, explain, type Refusal } from '../../model/refusal.ts'
import type { Runtime } from '../kernel/runtime.ts'
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
  const schema = running.input.type === 'call.opened' ? running.input.outputSchema : null
  const boundary = running.input.boundary ?? null
  if (schema === null || first.outcome !== 'completed') return first
  const problems = await findProblems(runtime, running, schema, first.output, 1)
  if (problems.length === 0) return first
  const second = await run((input) => ({
    attempt: 2,
    prompt: [
      `${input.prompt}\n`,
      `${frameUnder(boundary, 'Your last answer was:', first.output)}\n`,
      'It must be JSON that satisfies this schema, and nothing else:',
      frameLines(boundary, JSON.stringify(schema)),
      frameLines(boundary, `Problems: ${problems.join('; ')}`),
    ].join('\n'),
  }))
  if (second.outcome !== 'completed') return second
  const left = await findProblems(runtime, running, schema, second.output, 2)
  return left.length === 0
    ? second
    : {
        ...second,
        outcome: 'failed',
        error: `output_invalid: ${explain({ code: 'output_invalid', problems: left })}`,
      }
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
