/**
 * What an agent with a loop of its own was seen to do, and what it asks leave for. It has done it already when we
 * hear of it, so nothing here is repeated or withheld: it is recorded as soon as the store takes it.
 */
import type { SeenStep, DrivenSteps } from '../kernel/driven-port.ts'
import { flush } from '../kernel/flush.ts'
import { Fenced, Stopped } from '../kernel/faults.ts'
import { makeStepKey } from '../kernel/recorded.ts'
import type { Running } from '../kernel/running.ts'
import { occurrence } from './occurrence.ts'
import type { Runtime } from './runtime.ts'

export const drivenSteps = (runtime: Runtime, running: Running): DrivenSteps => ({
  seen: (step) => see(runtime, running, step),
  keep: () => flush(runtime, running),
  reached: () => running.reached,
  async ask(tool, input, key) {
    if (!runtime.asks) return { answer: 'deny', by: 'nobody can be asked here' }
    running.toolsRunning += 1
    try {
      // The id of a tool call is the agent's own, and may come again: leave for one act is none for another.
      const step = occurrence(running, makeStepKey('tool', tool, { key, input }))
      return await runtime.rooms.askPerson(running, tool, input, step)
    } finally {
      running.toolsRunning -= 1
      running.progressAt = runtime.clock.elapsed()
    }
  },
})

function see(runtime: Runtime, running: Running, { key, name, input, ended, isNote }: SeenStep): void {
  if (running.abort.signal.aborted) return
  running.progressAt = runtime.clock.elapsed()
  const place = {
    session: running.row.session,
    turn: running.row.id,
    kind: 'tool' as const,
    name,
    key,
    input,
  }
  running.buffer.push(
    ended === null
      ? { type: 'step.started', ...place }
      : { type: 'step.ended', ...place, ...ended, usage: null, startedAt: runtime.clock.now() },
  )
  if (ended !== null && isNote === undefined) running.toolCalls.add(name)
  running.keeping ??= keep(runtime, running).finally(() => (running.keeping = null))
}

/** What comes while a commit is under way shares the next one. */
async function keep(runtime: Runtime, running: Running): Promise<void> {
  try {
    while (running.buffer.length > 0 && !running.abort.signal.aborted) await flush(runtime, running)
  } catch (fault) {
    // A turn that is over records what is left with its end, or nothing any more.
    if (!(fault instanceof Fenced) && !(fault instanceof Stopped) && !running.abort.signal.aborted)
      runtime.report(fault)
  }
}
