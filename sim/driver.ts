/**
 * Drivers that do what their script says: think, call, wait, and end well or badly. What they do depends on
 * the script alone, so a turn that is run again does the same.
 */
import type { Usage } from '../src/model/event.ts'
import type { Json } from '../src/model/json.ts'
import { BudgetExhausted } from '../src/runtime/kernel/faults.ts'
import type { Clock, Driver, Steps, ToolAnswer, TurnInput, TurnOutcome } from '../src/runtime/kernel/ports.ts'
import type { TurnId } from '../src/model/id.ts'
import { getMainSession, nameAgent } from './agents.ts'
import { nameThought } from './oracle/answers.ts'
import type { Act, CallAct, Plan, Script } from './plan.ts'

export type Observer = {
  count(what: string): void
  /** The driver of a turn begins; what is returned is called at its end. */
  begins(turn: TurnId, signal: AbortSignal): () => void
  /** A caller asks, and is given the result of a call; `text` is null where it is not shown as it is. */
  asks(turn: TurnId, call: CallAct, task: string): void
  result(call: string, outcome: string, text: string | null): void
  /** A request begins, and what it took; `over` is by how much it may be more than was left. */
  thinks(turn: TurnId, activation: AbortSignal): void
  thought(turn: TurnId, activation: AbortSignal, text: string, tokens: number, over: number): void
  /** A tool threw, instead of an answer. */
  breaks(turn: TurnId, tool: string, fault: unknown): void
  /** A word for an answer that no other answer has, and the answer. */
  makeNonce(turn: TurnId): string
  answers(turn: TurnId, output: string): void
}

type Run = {
  turn: TurnInput
  steps: Steps
  signal: AbortSignal
  clock: Clock
  observer: Observer
  background: string[]
  taken: string[]
  asked: number
  iterations: number
}

export const writeTask = (script: number, nth: string): string => `s${script} ${nth}`

export function scriptDriver(plan: Plan, clock: Clock, observer: Observer): Driver {
  return {
    async run(turn, steps, signal) {
      const index = Number(/^s(\d+)/.exec(turn.task)?.[1] ?? -1)
      const script = plan.scripts[index]
      const run: Run = {
        turn,
        steps,
        signal,
        clock,
        observer,
        background: [],
        taken: [],
        asked: 0,
        iterations: 0,
      }
      if (script === undefined) return makeOutcome(run, 'failed', '', 'there is no such script')
      const end = observer.begins(turn.turn.id, signal)
      try {
        for (const act of script.acts) await perform(run, act)
        return await finish(run, script)
      } finally {
        end()
      }
    },
  }
}

const makeOutcome = (
  run: Run,
  outcome: TurnOutcome['outcome'],
  output: string,
  error: string | null,
): TurnOutcome => ({ outcome, output, error, iterations: run.iterations })

async function perform(run: Run, act: Act): Promise<void> {
  switch (act.do) {
    case 'think':
      return think(run, act)
    case 'call':
      await Promise.all(act.calls.map((call) => makeCall(run, call)))
      return
    case 'wait':
      return wait(run, act)
    case 'note':
      // Asked again because of its schema, it writes other notes.
      await use(run, 'note', { n: (run.asked += 1) + (run.turn.attempt - 1) * 1000 })
      return
    case 'mail':
      return mail(run, act)
  }
}

async function use(run: Run, tool: string, input: Json): Promise<ToolAnswer> {
  try {
    return await run.steps.tool(tool, input)
  } catch (fault) {
    // A turn that was stopped hears why.
    if (!run.signal.aborted) run.observer.breaks(run.turn.turn.id, tool, fault)
    throw fault
  }
}

async function mail(run: Run, act: Extract<Act, { do: 'mail' }>): Promise<void> {
  run.asked += 1
  const message = writeTask(act.script, `letter ${run.asked}`)
  if (act.what === 'take') {
    const { value } = await use(run, 'buffer', { accept: true })
    const taken = (value as { message?: { id: string } | null }).message
    if (taken != null) run.taken.push(taken.id)
    run.observer.count(taken == null ? 'mail.none' : 'mail.taken')
    return
  }
  // A turn that has taken nothing replies to a message of another session, and must be refused.
  const reply = act.what === 'reply' ? (run.taken.at(-1) ?? `mail-${act.to}`) : undefined
  const { ok } = await use(run, 'send-message', {
    message,
    ...(reply === undefined ? { session: getMainSession(nameAgent(act.to)) } : { reply: [reply] }),
  })
  run.observer.count(`mail.${act.what}${ok ? '' : '.refused'}`)
}

async function think(run: Run, act: Extract<Act, { do: 'think' }>): Promise<void> {
  run.iterations += 1
  if (act.ms >= 2500) run.observer.count('driver.slow')
  const { id } = run.turn.turn
  await run.steps.step('model', 'sim', { iteration: run.iterations }, async (signal) => {
    run.observer.thinks(id, run.signal)
    await run.clock.sleep(act.ms, signal)
    const left = run.steps.tokensLeft()
    if (act.lie !== undefined) run.observer.count(`driver.lie_${act.lie}`)
    else if (left !== null && act.tokens > left) throw new BudgetExhausted(`${left} tokens are left`)
    else if (act.tokens * nanoUsdPerToken > (run.steps.moneyLeft?.()?.left ?? Infinity))
      throw new BudgetExhausted('too little money is left')
    const text = `thought ${nameThought(id, run.iterations)}. `
    run.steps.emit(text)
    const tokens = act.lie === 'none' ? 0 : act.lie === 'high' ? act.tokens + 400 : act.tokens
    run.observer.thought(id, run.signal, text, tokens, act.lie === 'high' ? tokens : 0)
    return {
      value: { text, toolCalls: [], finish: 'stop' },
      usage: { input: tokens, output: 0, estimated: false, ...priceThought(tokens, act.lie === 'high') },
    }
  })
}

/** In billionths of a dollar. What nobody could foresee is marked. */
export const nanoUsdPerToken = 1_000_000

const priceThought = (tokens: number, isLie: boolean): Pick<Usage, 'cost'> =>
  tokens === 0 ? {} : { cost: { nanoUsd: tokens * nanoUsdPerToken, by: isLie ? 'reported' : 'table' } }

async function makeCall(run: Run, call: CallAct): Promise<void> {
  run.asked += 1
  const task = writeTask(call.script, `n${run.asked}`)
  run.observer.asks(run.turn.turn.id, call, task)
  const answer = await use(run, call.tool, makeInput(call, task))
  const value = answer.value as Record<string, Json>
  const id = value['call_id'] ?? value['correlation_id']
  if (typeof id !== 'string') return
  if (value['outcome'] === null) run.background.push(id)
  else tellResult(run, id, value)
}

function tellResult({ observer }: Run, call: string, value: Record<string, Json>): void {
  const text = value['output'] ?? value['response']
  const outcome = value['outcome'] ?? (value['success'] === true ? 'completed' : null)
  if (typeof outcome !== 'string') return
  const shown = outcome === 'refused' ? null : (text ?? value['summary'])
  observer.result(call, outcome, typeof shown === 'string' ? shown : null)
}

function makeInput(call: CallAct, task: string): Json {
  const seconds = call.timeoutMs === undefined ? {} : { timeout_seconds: call.timeoutMs / 1000 }
  if (call.tool === 'call_agent')
    return {
      agent_id: call.agent < 0 ? getMainSession(nameAgent(-call.agent - 1)) : nameAgent(call.agent),
      message: task,
      ...(call.timeoutMs !== undefined && { timeout_ms: call.timeoutMs }),
    }
  if (call.tool === 'subagent') return { task, ...seconds }
  return {
    agent_name: nameAgent(Math.max(0, call.agent)),
    task,
    allow_nested_calls: call.nested ?? true,
    ...seconds,
    ...(call.maxTokens !== undefined && { max_tokens: call.maxTokens }),
    ...(call.allowed !== undefined && { allowed_tools: call.allowed }),
    ...(call.background === true && { background: true }),
    ...((call.lastMessages !== undefined || call.summary === true) && { context: makeContext(call) }),
    ...(call.schema === true && { output_schema: { type: 'object', required: ['never'] } }),
    ...(call.maxContext !== undefined && { max_context_tokens: call.maxContext }),
  }
}

const makeContext = ({ lastMessages, summary }: CallAct): Json => ({
  ...(lastMessages !== undefined && { last_messages: lastMessages }),
  ...(summary === true && { include_summary: true }),
})

async function wait(run: Run, act: Extract<Act, { do: 'wait' }>): Promise<void> {
  const call = run.background[act.of % Math.max(1, run.background.length)]
  if (call === undefined) return
  const one = async (seconds: number): Promise<ToolAnswer> =>
    use(run, 'wait_for_call', { call_id: call, timeout_seconds: seconds })
  const answers =
    act.twice === true
      ? await Promise.all([one(act.seconds), one(act.seconds + 2)])
      : [await one(act.seconds)]
  for (const { value } of answers) {
    const told = value as Record<string, Json>
    if (told['outcome'] !== 'refused') tellResult(run, call, told)
  }
}

/** Enough words that a conversation soon outgrows what a child may be given of it. */
const longWords = 'with a report that is long enough to be left out where there is no room for it any more'

async function finish(run: Run, script: Script): Promise<TurnOutcome> {
  const { clock, signal, observer } = run
  if (script.end !== 'answer') observer.count(`driver.${script.end}`)
  const { id } = run.turn.turn
  const output = `${observer.makeNonce(id)} by ${run.turn.agent.name}, ${longWords}`
  observer.answers(id, output)
  const answer = makeOutcome(run, 'completed', output, null)
  switch (script.end) {
    case 'answer':
      return answer
    case 'fail':
      throw new Error('the driver broke')
    case 'empty':
      return makeOutcome(run, 'completed', '', null)
    case 'hang':
      await clock.sleep(1e9, signal)
      return answer
    // Neither listens to its signal: one never comes back, the other late.
    case 'deaf':
      await clock.sleep(1e9)
      return answer
    case 'late':
      await clock.sleep(script.lateMs)
      return answer
    case 'twice':
      void continueAfterAnswer(run, script.lateMs)
      return answer
  }
}

/** Goes on after its answer, as a broken driver would. Every request must be refused. */
async function continueAfterAnswer(run: Run, ms: number): Promise<void> {
  try {
    await run.clock.sleep(ms)
    await makeCall(run, { tool: 'sub_agent', agent: 0, script: 0 })
    await think(run, { do: 'think', ms: 1, tokens: 5 })
    await use(run, 'note', { n: -1 })
  } catch {
    // It was refused, as it should be.
    run.observer.count('driver.twice_refused')
  }
}
