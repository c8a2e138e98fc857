/** Tasks that a program gives to agents of its line, and what runs there. */
import { resolve } from 'node:path'
import { OptionsError } from './agents.ts'
import type { RunOptions, Tieline } from './line.ts'
import { isSessionId } from './model/id.ts'
import { explain } from './model/refusal.ts'
import { refuseDirectory } from './runtime/kernel/is-directory.ts'
import { readRecord } from './runtime/look/record.ts'
import { startRun } from './runtime/sessions/run.ts'
import type { Runtime } from './runtime/sessions/runtime.ts'

const idleLookMs = 50

export const presentRuns = (
  runtime: Runtime,
  cwd: string,
): Pick<Tieline, 'run' | 'running' | 'idle' | 'onDelta' | 'call'> => ({
  run: (agent, task, run = {}) =>
    startRun(runtime, {
      to: findTarget(agent, run, cwd),
      text: task,
      timeoutMs: run.timeoutMs,
      maxTokens: run.maxTokens,
      maxUsd: run.maxUsd,
    }),
  call: (id) => readRecord(runtime.store, id),
  running: () => runtime.running.size,
  async idle() {
    while (runtime.running.size > 0) await runtime.clock.sleep(idleLookMs, runtime.stopping.signal)
  },
  onDelta(listener) {
    runtime.deltaListeners.add(listener)
    return () => runtime.deltaListeners.delete(listener)
  },
})

function findTarget(agent: string, { session, cwd, title }: RunOptions, home: string) {
  const directory = resolve(cwd ?? home)
  const unusable = session === undefined ? refuseDirectory(directory) : null
  if (unusable !== null) throw new OptionsError(explain(unusable))
  if (session === undefined) return { agent, cwd: directory, ...(title === undefined ? {} : { title }) }
  if (!isSessionId(session))
    throw new OptionsError(`session: "${session}" was given, but the id of a session ("ses_…") is needed`)
  return { session }
}
