/** Runs an agent on a language model: our loop, one provider request per recorded step. */
import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { Agent } from '../../model/agent.ts'
import type { Millis } from '../../model/id.ts'
import type { CountTokens } from '../../model/text.ts'
import { createAlarm, type Alarm } from '../../runtime/kernel/alarm.ts'
import { usageEstimator } from '../../runtime/turns/estimate-usage.ts'
import { type Ask, runLoop } from '../../runtime/turns/loop.ts'
import type { Clock, Driver } from '../../runtime/kernel/ports.ts'
import { modelAsk, type AskSettings } from './ask.ts'

export type ModelDriverSettings = Pick<AskSettings, 'stallMs' | 'redact'> & {
  /** Rejects with words that say what to set, where the agent has no model that can be used. */
  model: (agent: Agent) => Promise<LanguageModelV4>
  clock: Clock
  count: CountTokens
  /** Stopped by its owner; without it the driver keeps its own. */
  alarm?: Alarm
}

export function askMaker({ model, count, ...settings }: ModelDriverSettings) {
  const alarm = settings.alarm ?? createAlarm(settings.clock)
  const estimate = usageEstimator(count)
  const makeAsk = (agent: Agent, deadline: Millis): Ask =>
    modelAsk({ ...settings, model: () => model(agent), alarm, estimate, deadline })
  return { makeAsk, estimate }
}

export function modelDriver(settings: ModelDriverSettings): Driver {
  const { makeAsk, estimate } = askMaker(settings)
  return {
    run(turn, steps, signal) {
      const ask = makeAsk(turn.agent, turn.turn.deadline)
      return runLoop(turn, steps, signal, ask, turn.agent.model ?? 'model', estimate)
    },
  }
}
