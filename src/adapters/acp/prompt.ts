/** One prompt to an open agent: its text as it comes, its questions, what it used, and how it ended. */
import type { Usage } from '../../model/event.ts'
import type { Json } from '../../model/json.ts'
import { isRecord } from '../../model/json.ts'
import { answerUnitsMax } from '../../model/limits.ts'
import { countGently, countRoughly, headUnits, type CountTokens } from '../../model/text.ts'
import type { LimitBook } from '../../runtime/kernel/driven-port.ts'
import { SaidTooMuch } from '../../runtime/kernel/faults.ts'
import type { Clock, Steps, TurnInput } from '../../runtime/kernel/ports.ts'
import { BudgetSpent, watchBudget } from './budget.ts'
import { createObserver, describeInput, type Observer } from './observe.ts'
import { limitKey, readPlanWindows } from './plan-windows.ts'
import { ruleOn } from '../../model/permission.ts'
import { chooseOption, readOptions } from './permission.ts'
import { isOlder } from './is-older.ts'
import type { OpenAgent } from './pool.ts'
import { findPreset, quirksOf } from './program.ts'
import { AgentUnavailable, faultText, ProcessEnded, readUnavailable } from './unavailable.ts'
import { toNanoUsd } from '../../model/money.ts'
import { readUsage, readUsd, settleUsage, settleUsd } from './usage.ts'
import { textAt } from './text-at.ts'
import { table } from '../../model/table.ts'

/** As recorded. `cost` is what the agent itself says of its context and its money. */
export type Spoken = { text: string; error: string | null; cost: Json }

export type PromptDeps = {
  clock: Clock
  count: CountTokens
  titles: ReadonlyMap<string, string>
  limits?: Pick<LimitBook, 'see'>
}

/** How long an agent may take to answer a cancel before its process group is ended. */
const cancelMs = 800

/** `said` gathers the text over several processes. `end` ends its process group. */
export async function runPrompt(
  deps: PromptDeps,
  agent: OpenAgent,
  turn: TurnInput,
  steps: Steps,
  first: string,
  said: { text: string },
  signal: AbortSignal,
  end: () => Promise<void>,
): Promise<{ value: Spoken; usage: Usage }> {
  steps.steering?.begin()
  let asked = first
  const over = new AbortController()
  const stopped = AbortSignal.any([signal, over.signal])
  const budget = watchBudget(steps.tokensLeft(), await countGently(deps.count, first), deps.count, (fault) =>
    over.abort(fault),
  )
  const observer = createObserver(
    {
      say(text) {
        const room = answerUnitsMax - said.text.length
        const heard = text.length > room ? headUnits(text, room) : text
        said.text += heard
        steps.emit(heard)
        budget.said(heard)
        if (text.length > room) over.abort(new SaidTooMuch())
      },
      seen: (step) => steps.driven?.seen(step),
      holds: (tokens) => budget.holds(tokens),
      adds: (meta) => deps.limits?.see(limitKey(turn.agent.name), readPlanWindows(meta)),
    },
    deps.titles,
    `${turn.attempt}-${agent.opened}`,
  )
  const offWords = agent.conversation.canSteer
    ? steps.steering?.onWord((text) => agent.conversation.steer(text).catch(() => false))
    : undefined
  const used: Usage = { input: 0, output: 0, estimated: false }
  const began = said.text.length
  let answer: Record<string, unknown> = {}
  try {
    for (let round = 1; ; round += 1) {
      const from = said.text.length
      answer = await untilStopped(deps, agent, turn, steps, observer, asked, stopped, end)
      addUsage(used, await countPrompt(deps, agent, turn, answer, asked, said.text.slice(from)))
      // A word that it could not take is its next input, before its turn may end.
      const words = (await steps.steering?.take(`driven-${turn.attempt}-${round}`, true)) ?? []
      if (words.length === 0) break
      asked = words.join('\n\n')
      if (said.text !== '' && !said.text.endsWith('\n')) steps.emit('\n')
    }
  } catch (fault) {
    if (!(fault instanceof BudgetSpent || fault instanceof SaidTooMuch) || signal.aborted) throw fault
    // Its process is gone, so nobody will say any more what it has used.
    const spoken = fault instanceof SaidTooMuch ? countRoughly(deps.count, said.text) : 0
    const seen = Math.max(budget.spent(), spoken)
    const usage = { input: used.input + seen, output: used.output, estimated: true }
    return { value: { text: said.text.trim(), error: fault.message, cost: observer.cost() }, usage }
  } finally {
    offWords?.()
  }
  const cost = observer.cost()
  const total = readUsd(cost)
  const nanoUsd = total === null ? null : toNanoUsd(settleUsd(total, agent.countedUsd))
  if (total !== null) agent.countedUsd = total
  const plan = turn.agent.billing === 'key' ? {} : { plan: true as const }
  if (nanoUsd !== null) used.cost = { nanoUsd, by: 'reported', ...plan }
  const error = readError(answer, said.text) ?? readAdapter(agent, turn, observer, said.text.slice(began))
  return { value: { text: said.text.trim(), error, cost }, usage: used }
}

/**
 * D2: words of an adapter alone are no answer. It ends its turn as if all were well where it could not even ask
 * its model: without a login, or with a configuration that leads nowhere.
 */
function readAdapter(agent: OpenAgent, turn: TurnInput, observer: Observer, text: string): string | null {
  const { spoke, acted } = observer.worked()
  const { namesMessagesSince: since } = quirksOf(turn.agent)
  const { version } = agent.conversation
  if (spoke || since === undefined || version === null || isOlder(version, since)) return null
  if (acted) return `agent_failed: ${text.trim()}`
  const preset = findPreset(turn.agent)
  throw new AgentUnavailable(
    readUnavailable(new Error(text.trim()), preset) ?? {
      why: `${preset?.title ?? 'the agent'} could not ask its model (${text.trim()})`,
      cure: `start "${preset?.program ?? 'it'}" by hand and look`,
    },
  )
}

function addUsage(sum: Usage, more: Usage): void {
  sum.input += more.input
  sum.output += more.output
  sum.estimated ||= more.estimated
}

/** D3: the agent is asked to stop, then its group is ended, and nobody waits for it longer than that. */
async function untilStopped(
  deps: PromptDeps,
  agent: OpenAgent,
  turn: TurnInput,
  steps: Steps,
  observer: Observer,
  text: string,
  signal: AbortSignal,
  end: () => Promise<void>,
): Promise<Record<string, unknown>> {
  signal.throwIfAborted()
  const over = new AbortController()
  const running = agent.conversation
    .prompt(text, {
      update: (update) => (signal.aborted ? undefined : observer.take(update)),
      permission: (request) => answerRequest(deps, turn, steps, observer, request, signal),
    })
    .catch((fault: unknown) => {
      if (fault instanceof ProcessEnded || signal.aborted) throw fault
      const known = readUnavailable(fault, findPreset(turn.agent))
      if (known !== null) throw new AgentUnavailable(known)
      return { stopReason: 'error', error: faultText(fault) }
    })
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener(
      'abort',
      () => {
        agent.conversation.cancel()
        const grace = deps.clock.sleep(cancelMs, over.signal).catch(() => undefined)
        void Promise.race([running.catch(() => undefined), grace])
          .then(end)
          .finally(() => reject(signal.reason))
      },
      { once: true, signal: over.signal },
    )
  })
  try {
    const answer = await Promise.race([running, stopped])
    // Its own end may come just after the signal: then the group is ended all the same.
    return signal.aborted ? await stopped : answer
  } catch (fault) {
    if (signal.aborted) return await stopped
    throw fault
  } finally {
    over.abort()
  }
}

async function countPrompt(
  { count }: PromptDeps,
  agent: OpenAgent,
  turn: TurnInput,
  answer: Record<string, unknown>,
  asked: string,
  text: string,
): Promise<Usage> {
  const reported = readUsage(answer)
  const estimate = { input: await countGently(count, asked), output: await countGently(count, text) }
  const meaning = quirksOf(turn.agent).usage
  const usage = settleUsage(meaning, reported, agent.counted, estimate)
  if (meaning === 'process' && reported !== null) agent.counted = reported
  return usage
}

const reasons = table({
  max_tokens: 'output_cut: the agent reached its own output limit before it had finished',
  max_turn_requests: 'agent_limit: the agent reached its own limit of requests in one turn',
  refusal: 'agent_refused: the agent refused to go on',
  cancelled: 'agent_cancelled: the agent ended its turn by itself, as cancelled',
})

/** D2: null only where it has finished with something to say. */
function readError(answer: Record<string, unknown>, text: string): string | null {
  const reason = textAt(answer, 'stopReason', 'nothing')
  if (reason === 'error') return `agent_failed: ${textAt(answer, 'error')}`
  if (reason === 'end_turn') return text.trim() === '' ? 'empty_output' : null
  return reasons[reason] ?? `agent_failed: the agent stopped for a reason that is not known (${reason})`
}

/** The id of the option that says what was ruled or answered; null cancels the request. */
async function answerRequest(
  { titles }: PromptDeps,
  turn: TurnInput,
  steps: Steps,
  observer: Observer,
  request: Record<string, unknown>,
  signal: AbortSignal,
): Promise<string | null> {
  const call = isRecord(request['toolCall']) ? request['toolCall'] : {}
  const asked = observer.learn(call)
  const options = readOptions(request['options'])
  const ruling = ruleOn(asked, turn.agent.permissions ?? 'ask', turn.turn.grant.authority.tools, titles)
  if (ruling !== 'ask') return chooseOption(options, ruling)
  if (steps.driven === undefined || signal.aborted) return null
  const tool = (asked.name ?? (asked.kind === 'other' ? asked.title : asked.kind)) || 'tool'
  const { answer } = await steps.driven.ask(tool, describeInput(asked), `permission-${asked.id}`)
  return signal.aborted ? null : chooseOption(options, answer)
}
