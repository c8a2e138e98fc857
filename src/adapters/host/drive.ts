/**
 * Runs a turn in a connected program. If the program goes away, it has a grace time to come back; then the
 * turn is lost, and its originator learns that.
 */
import type { OpeningMessage, Usage } from '../../model/event.ts'
import { answerUnitsMax } from '../../model/limits.ts'
import { toNanoUsd } from '../../model/money.ts'
import { headUnits } from '../../model/text.ts'
import { RunnerLost, SaidTooMuch } from '../../runtime/kernel/faults.ts'
import type { Clock, Driver, Steps, TurnInput, TurnOutcome } from '../../runtime/kernel/ports.ts'
import type { ToHost } from '../../wire/host.ts'
import type { HostAnswer, HostHub } from './hub.ts'

export const hostGraceMs = 10_000

export type HostDriverDeps = {
  hub: HostHub
  clock: Clock
  graceMs?: number
  inputOf?: (turn: TurnInput) => Promise<OpeningMessage | null>
}

export const hostDriver = (deps: HostDriverDeps): Driver => ({
  async run(turn, steps, signal): Promise<TurnOutcome> {
    // One recorded step: what the program said, whatever it did to say it.
    const answer = await steps.step<{ text: string; error: string | null }>(
      'model',
      turn.agent.name,
      { prompt: turn.prompt },
      async (stepSignal) => {
        const { output, error, usage } = await runThere(deps, turn, steps, stepSignal)
        const isLong = output.length > answerUnitsMax
        return {
          value: isLong
            ? { text: headUnits(output, answerUnitsMax), error: new SaidTooMuch().message }
            : { text: output, error },
          usage: usage === null ? null : readReported(usage),
        }
      },
    )
    signal.throwIfAborted()
    return answer.error === null
      ? { outcome: 'completed', output: answer.text, error: null, iterations: 1 }
      : { outcome: 'failed', output: answer.text, error: `host_failed: ${answer.error}`, iterations: 1 }
  },
})

async function runThere(
  { hub, clock, graceMs = hostGraceMs, inputOf }: HostDriverDeps,
  turn: TurnInput,
  steps: Steps,
  signal: AbortSignal,
): Promise<HostAnswer> {
  const sent = (await inputOf?.(turn)) ?? null
  const gone = new AbortController()
  return new Promise<HostAnswer>((resolve, reject) => {
    let waiting = false
    const over = (settle: () => void): void => {
      end()
      gone.abort()
      signal.removeEventListener('abort', stop)
      settle()
    }
    const stop = (): void => {
      hub.cancel(turn.turn.id, String((signal.reason as Error | undefined)?.message ?? 'stopped'))
      over(() => reject(signal.reason))
    }
    const end = hub.begin(turn.turn.id, {
      session: turn.session.id,
      frame: (own) => makeTurnFrame(turn, own, sent),
      answer: (answer) => over(() => resolve(answer)),
      say: (text) => steps.emit(text),
      tool: (name, input) => steps.tool(name, input),
      onLost() {
        if (waiting) return
        waiting = true
        void clock.sleep(graceMs, gone.signal).then(
          () => {
            waiting = false
            if (!hub.isThere(turn.session.id))
              over(() => reject(new RunnerLost(`the program that runs ${turn.session.id} is not connected`)))
          },
          () => undefined,
        )
      },
    })
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

const makeTurnFrame = (turn: TurnInput, own: string, sent: OpeningMessage | null): ToHost => ({
  type: 'turn',
  turn: turn.turn.id,
  id: own,
  sessionId: turn.session.id,
  prompt: turn.prompt,
  task: turn.task,
  from: sent?.from ?? turn.turn.call?.caller ?? null,
  source: sent?.source ?? 'agent',
  messageId: sent?.message ?? null,
  inReplyTo: sent?.inReplyTo ?? null,
  system: turn.system,
  deadline: Math.min(turn.turn.deadline, turn.turn.call?.deadline ?? Infinity),
  tools: turn.tools.map(({ name, description, input }) => ({ name, description, input })),
})

/** A cost that the program says is the cost. */
function readReported({ input, output, costUsd }: NonNullable<HostAnswer['usage']>): Usage {
  const nanoUsd = costUsd === undefined ? null : toNanoUsd(costUsd)
  const cost = nanoUsd === null ? {} : { cost: { nanoUsd, by: 'reported' as const } }
  return { input, output, estimated: false, ...cost }
}
