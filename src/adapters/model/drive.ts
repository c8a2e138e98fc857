/** Runs an agent on a language model: our loop, one provider request per recorded step. */
import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { Agent } from '../../model/agent.ts'
import type { CountTokens } from '../../model/text.ts'
import { createAlarm, type Alarm } from '../../runtime/kernel/alarm.ts'
import { usageEstimator } from '../../runtime/turns/estimate-usage.ts'
import { runLoop } from '../../runtime/turns/loop.ts'
import type { Clock, Driver } from '../../runtime/kernel/ports.ts'
import { modelAsk } from './ask.ts'

export type ModelDriverSettings = {
  /** Rejects with words that say what to set, where the agent has no model that can be used. */
  model: (agent: Agent) => Promise<LanguageModelV4>
  clock: Clock
  count: CountTokens
  /** Whoever hands one in stops it; without it the driver keeps its own. */
  alarm?: Alarm
  stallMs?: number
  redact?: (text: string) => string
}

export function modelDriver(settings: ModelDriverSettings): Driver {
  const { clock, stallMs, redact } = settings
  const alarm = settings.alarm ?? createAlarm(clock)
  const estimate = usageEstimator(settings.count)
  return {
    run(turn, steps, signal) {
      const ask = modelAsk({
        model: () => settings.model(turn.agent),
        clock,
        alarm,
        estimate,
        deadline: turn.turn.deadline,
        ...(stallMs !== undefined && { stallMs }),
        ...(redact !== undefined && { redact }),
      })
      return runLoop(turn, steps, signal, ask, turn.agent.model ?? 'model', estimate)
    },
  }
}
