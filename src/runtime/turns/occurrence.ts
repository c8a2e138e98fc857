/**
 * Which step of its turn a use of a tool is. Occurrences of the same request are numbered as they begin, so that
 * parallel ones are told apart however they end.
 */
import type { Running } from '../kernel/running.ts'

/** The step that an act is: one that is tried again, because nothing of it was recorded, is the same step. */
export type Step = { key: string | null }

export function occurrence({ begun }: Running, request: string, step?: Step): string {
  if (step?.key != null) return step.key
  const before = begun.get(request) ?? 0
  begun.set(request, before + 1)
  const key = before === 0 ? request : `${request}#${before + 1}`
  if (step !== undefined) step.key = key
  return key
}

/**
 * Nothing of that step was recorded: where none came after it, the next one is the same step, whoever asks for it. A
 * turn that runs from its record would number it otherwise.
 */
export function giveBack({ begun }: Running, step: Step): void {
  const { key } = step
  if (key === null) return
  const [, request = key, number = '1'] = /^(.*)#(\d+)$/s.exec(key) ?? []
  if (begun.get(request) !== Number(number)) return
  begun.set(request, Number(number) - 1)
  step.key = null
}
