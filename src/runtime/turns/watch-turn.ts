/** Keeps the time of a turn that runs here. */
import { isDriven } from '../../model/agent.ts'
import { silenceMsMax } from '../../model/time-limits.ts'
import { msLeft } from '../kernel/kept-time.ts'
import type { Running } from '../kernel/running.ts'
import { cancel } from './ending.ts'
import type { Runtime } from './runtime.ts'

const recordReadMs = 1000

/** The turn's own deadline, and silence where nobody else keeps time for it. */
export function watch(runtime: Runtime, running: Running): () => void {
  const { row } = running
  const driven = isDriven(running.agent)
  const ownTime = row.call === null || running.session.kind === 'persistent'
  if (!ownTime && !driven) return () => undefined
  const stop = (cause: string, only?: Running): void =>
    void cancel(runtime, row.id, 'timed_out', cause, only).catch(runtime.report)
  const offDeadline = ownTime
    ? runtime.alarm.after(msLeftHere(runtime, running), () => stop('deadline'))
    : (): void => undefined
  // A client outside may be silent for as long as its call may take.
  if ((row.call !== null && !driven) || running.session.kind === 'external') return offDeadline
  const silenceMs = silenceMsMax(running.agent, runtime.limits)
  let offSilence = (): void => undefined
  const listen = (ms: number): void => {
    offSilence = runtime.alarm.after(ms, () => {
      const quietMs = running.toolsRunning > 0 ? 0 : runtime.clock.elapsed() - running.progressAt
      if (quietMs >= silenceMs)
        // R6: it may be silent here because another node has it.
        stop(`nothing happened for ${silenceMs} ms`, running)
      else listen(silenceMs - quietMs)
    })
  }
  listen(silenceMs)
  return () => {
    offDeadline()
    offSilence()
  }
}

/**
 * A client's turn that was taken up late may have its answer on record already: it gets the time to read it.
 */
function msLeftHere(runtime: Runtime, { row, session, recorded }: Running): number {
  const left = msLeft(runtime, row.id, row.deadline)
  return session.kind === 'external' && recorded !== null ? Math.max(left, recordReadMs) : left
}
