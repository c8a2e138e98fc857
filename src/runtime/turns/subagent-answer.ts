/** The answer of a subagent, read where its turn ends: the record says what its caller reads. */
import { artifactKindsDefault, isEmptyAnswer, readFinalAnswer } from '../../model/final-answer.ts'
import type { TurnOutcome } from '../kernel/ports.ts'
import type { Running } from '../kernel/running.ts'
import type { Runtime } from './runtime.ts'

export const emptyOutput = 'empty_output: the run ended without an answer'

/** Any other turn ends as it did. */
export function asSubagent(runtime: Runtime, { input }: Running, ended: TurnOutcome): TurnOutcome {
  const isOne = input.type === 'call.opened' && input.tool === 'subagent' && input.told === true
  if (!isOne || ended.outcome !== 'completed') return ended
  const final = readFinalAnswer(ended.output, runtime.artifactKinds ?? artifactKindsDefault)
  if (typeof final === 'string')
    return {
      ...ended,
      outcome: 'failed',
      error: `output_invalid: the subagent's answer is malformed: ${final}`,
      whole: true,
    }
  return isEmptyAnswer(final) ? { ...ended, outcome: 'failed', error: emptyOutput, whole: true } : ended
}
