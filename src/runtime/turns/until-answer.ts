/**
 * The steps of one run of a driver. They end with its answer, because its turn may run a driver again, or is about
 * to end, while a broken one goes on: what was begun by then is recorded and charged like everything that was paid
 * for, nothing else begins, and nothing more is said.
 */
import { Fenced } from '../kernel/faults.ts'
import type { Steps, TurnOutcome } from '../kernel/ports.ts'

export function untilAnswer(steps: Steps, run: (steps: Steps) => Promise<TurnOutcome>): Promise<TurnOutcome> {
  let hasAnswered = false
  const begin = <Result>(effect: () => Promise<Result>): Promise<Result> =>
    hasAnswered
      ? Promise.reject(new Fenced('the driver has answered already: nothing more begins in this run'))
      : effect()
  const { steering } = steps
  const answer = run({
    ...steps,
    // It may have waited for its turn, and for what comes before it to be durable.
    step: (kind, name, request, effect) =>
      begin(() => steps.step(kind, name, request, (signal) => begin(() => effect(signal)))),
    tool: (...asked) => begin(() => steps.tool(...asked)),
    emit: (text) => {
      if (!hasAnswered) steps.emit(text)
    },
    remark: (words) => {
      if (!hasAnswered) steps.remark?.(words)
    },
    ...(steering === undefined
      ? {}
      : { steering: { ...steering, take: (...asked) => begin(() => steering.take(...asked)) } }),
  })
  const end = (): void => {
    hasAnswered = true
  }
  // Before whoever waits for the answer goes on. A driver of somebody's own may return anything.
  const answered = Promise.resolve(answer)
  void answered.then(end, end)
  return answered
}
