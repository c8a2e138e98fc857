/** Runs agents without a model: by rules, or by a function of the host's own. */
import type { CountTokens } from '../../model/text.ts'
import { usageEstimator } from '../../runtime/turns/estimate-usage.ts'
import { runLoop } from '../../runtime/turns/loop.ts'
import type { Clock, Driver } from '../../runtime/kernel/ports.ts'
import { scriptAsk } from './ask.ts'
import { runFunction, type ScriptedFunction } from './run-function.ts'
import { compileScript, type Script } from './script.ts'

export type ScriptedSettings = { clock: Clock; count: CountTokens }

/** The name that a scripted agent's model steps are recorded under. */
export const scriptedName = 'scripted'

export function scriptedDriver(source: Script | ScriptedFunction, settings: ScriptedSettings): Driver {
  const estimate = usageEstimator(settings.count)
  if (typeof source === 'function')
    return { run: (turn, steps, signal) => runFunction(source, turn, steps, signal, estimate, scriptedName) }
  const rules = compileScript(source)
  return {
    run: (turn, steps, signal) =>
      runLoop(turn, steps, signal, scriptAsk(rules, turn, settings.clock, estimate), scriptedName, estimate),
  }
}
