/**
 * In-memory implementations of our own ports for tests of drivers: a turn, its steps, and a clock that moves
 * only when told.
 */
import { Agent } from '../../src/model/agent.ts'
import type { Entry } from '../../src/model/context.ts'
import type { StepKind, Usage } from '../../src/model/event.ts'
import { canonical, type Json } from '../../src/model/json.ts'
import { nothingSpent } from '../../src/model/money.ts'
import { fullAuthority } from '../../src/model/authority.ts'
import { BudgetExhausted } from '../../src/runtime/kernel/faults.ts'
import type { Clock, Steps, ToolAnswer, TurnInput } from '../../src/runtime/kernel/ports.ts'
import type { ToolSpec } from '../../src/wire/tools.ts'

export type RecordedStep = { kind: StepKind; name: string; request: Json; value: Json; usage: Usage | null }

export type MemorySteps = Steps & {
  recorded: RecordedStep[]
  emitted: string[]
  remarks: string[]
  toolsRun: { name: string; input: Json }[]
  /** Effects that really ran. */
  effects: number
}

export type StepsOptions = {
  tools?: Record<string, (input: Json, signal: AbortSignal) => Promise<ToolAnswer> | ToolAnswer>
  tokens?: number
  signal?: AbortSignal
  /** Steps of an earlier run, which answer instead of their effects. */
  recorded?: readonly RecordedStep[]
}

export function memorySteps(options: StepsOptions = {}): MemorySteps {
  const { tools = {}, tokens = null, signal = new AbortController().signal } = options
  const before = [...(options.recorded ?? [])]
  let used = 0
  const steps: MemorySteps = {
    recorded: [],
    emitted: [],
    remarks: [],
    toolsRun: [],
    effects: 0,
    async step<T extends Json>(
      kind: StepKind,
      name: string,
      request: Json,
      effect: (signal: AbortSignal) => Promise<{ value: T; usage: Usage | null }>,
    ): Promise<T> {
      if (tokens !== null && used >= tokens) throw new BudgetExhausted('no tokens are left')
      const key = canonical({ kind, name, request })
      const at = before.findIndex(
        (step) => canonical({ kind: step.kind, name: step.name, request: step.request }) === key,
      )
      const known = at < 0 ? undefined : before.splice(at, 1)[0]
      if (known === undefined) steps.effects += 1
      const { value, usage } =
        known === undefined ? await effect(signal) : { value: known.value as T, usage: known.usage }
      // As in the log: what is recorded is a copy, and must be JSON.
      steps.recorded.push(structuredClone({ kind, name, request, value, usage }))
      used += usage === null ? 0 : usage.input + usage.output
      return value
    },
    tool(name, input) {
      return steps.step('tool', name, input, async (stepSignal) => {
        steps.toolsRun.push({ name, input })
        const run = tools[name]
        return {
          value:
            run === undefined
              ? { ok: false, value: `There is no tool ${name}.` }
              : await run(input, stepSignal),
          usage: null,
        }
      })
    },
    emit: (text) => void steps.emitted.push(text),
    remark: (words) => void steps.remarks.push(words),
    tokensLeft: () => (tokens === null ? null : tokens - used),
  }
  return steps
}

export const entry = (role: Entry['role'], text: string, more: Partial<Entry> = {}): Entry => ({
  n: 1,
  role,
  at: 0,
  text,
  tokens: text.length,
  from: null,
  turn: 'turn_0',
  hasSteps: false,
  steps: null,
  ...more,
})

export const toolSpec = (name: string): ToolSpec => ({
  name,
  description: `The tool ${name}`,
  input: { type: 'object', properties: { q: { type: 'string' } } },
})

export function turnInput(more: Partial<TurnInput> & { model?: string; deadline?: number } = {}): TurnInput {
  const { model, deadline = Number.MAX_SAFE_INTEGER, ...fields } = more
  const agent = Agent.parse({ name: 'worker', prompt: 'You work.', ...(model !== undefined && { model }) })
  return {
    agent,
    turn: {
      id: 'turn_1',
      session: 'ses_1',
      flow: 'flow_1',
      state: 'running',
      call: null,
      node: 'node_1',
      epoch: 1,
      deadline,
      stopping: null,
      openedAt: 0,
      openedSeq: 1,
      endedSeq: null,
      tokensUsed: 0,
      tokensBelow: 0,
      spent: nothingSpent,
      nanoUsdBelow: 0,
      grant: {
        agent: agent.name,
        depth: 0,
        subagentDepth: 0,
        path: [],
        authority: fullAuthority,
        tokensMax: null,
        maxIterations: 8,
      },
    },
    session: {
      id: 'ses_1',
      agent: agent.name,
      kind: 'ephemeral',
      parent: null,
      cwd: '/',
      title: '',
      model: null,
      createdAt: 0,
      archived: false,
      entries: 0,
      summary: null,
      summaryEntries: 0,
    },
    callable: [],
    system: 'You work.',
    history: [],
    prompt: 'Task: do it',
    task: 'do it',
    input: null,
    tools: [],
    maxIterations: 8,
    attempt: 1,
    ...fields,
  }
}

export type TestClock = Clock & { sleeps: number[]; pass: (ms: number) => void }

/**
 * Short sleeps end at once and move the time; long ones (stall limits) wait until `pass` moves it far enough.
 */
export function testClock(longMs = 60_000): TestClock {
  const sleepers = new Set<{ at: number; wake: () => void }>()
  let now = 1_000_000
  return {
    sleeps: [],
    now: () => now,
    elapsed: () => now,
    sleep(ms, signal) {
      if (signal?.aborted === true) return Promise.reject(signal.reason)
      if (ms < longMs) {
        this.sleeps.push(ms)
        now += ms
        return Promise.resolve()
      }
      return new Promise((resolve, reject) => {
        const sleeper = { at: now + ms, wake: () => resolve() }
        sleepers.add(sleeper)
        signal?.addEventListener(
          'abort',
          () => {
            sleepers.delete(sleeper)
            reject(signal.reason)
          },
          { once: true },
        )
      })
    },
    pass(ms) {
      now += ms
      for (const sleeper of sleepers)
        if (sleeper.at <= now) {
          sleepers.delete(sleeper)
          sleeper.wake()
        }
    },
  }
}

/** Words and marks: enough of a tokenizer to see that something was counted. */
export const countWords = (text: string): number => text.match(/\w+|[^\s\w]/g)?.length ?? 0
