import { describe, expect, it } from 'vitest'
import {
  countWords,
  memorySteps,
  type StepsOptions,
  testClock,
  toolSpec,
  turnInput,
} from '../../../test/kits/turns.ts'
import { Fenced } from '../../runtime/kernel/faults.ts'
import type { TurnInput } from '../../runtime/kernel/ports.ts'
import { scriptedDriver } from './drive.ts'
import type { ScriptedFunction } from './run-function.ts'
import { Script } from './script.ts'

const never = new AbortController().signal

async function run(source: unknown, turn: Partial<TurnInput> = {}, options: StepsOptions = {}) {
  const clock = testClock()
  const steps = memorySteps(options)
  const driver = scriptedDriver(
    typeof source === 'function' ? (source as ScriptedFunction) : Script.parse(source),
    { clock, count: countWords },
  )
  return { outcome: await driver.run(turnInput(turn), steps, options.signal ?? never), steps, clock }
}

describe('scripted rules', () => {
  it('answers with the first rule that fits, by task, iteration, tool and result', async () => {
    const rules = [
      { when: { tool: 'add', result: { regex: '^5$' } }, say: 'The sum is {{result}}.' },
      { when: { tool: 'add' }, say: 'strange' },
      {
        when: { task: 'sum', iteration: 1 },
        say: 'Adding.',
        tools: [{ name: 'add', input: { a: 2, b: 3 } }],
      },
      { when: { task: { regex: 'HELLO', flags: 'i' } }, say: 'Hello!' },
      { say: 'What?' },
    ]
    const tools = {
      add: (input: unknown) => ({ ok: true, value: (input as { a: number }).a + (input as { b: number }).b }),
    }
    const { outcome, steps } = await run(rules, { task: 'make a sum' }, { tools })
    expect(outcome).toEqual({ outcome: 'completed', output: 'The sum is 5.', error: null, iterations: 2 })
    expect(steps.emitted).toEqual(['Adding.', 'The sum is 5.'])
    expect((await run(rules, { task: 'hello' })).outcome.output).toBe('Hello!')
    expect((await run(rules, { task: 'else' })).outcome.output).toBe('What?')
  })

  it('fills templates in texts and tool inputs, and hands objects on as objects', async () => {
    const rules = [
      {
        when: { iteration: 1 },
        tools: [
          {
            name: 'ask',
            input: {
              all: '{{input}}',
              first: '{{input.names.0}}',
              note: '{{task}} #{{iteration}}',
              deep: [{ x: '{{ input.n }}' }],
              none: '{{input.missing}}',
            },
          },
        ],
      },
      {
        say: '{{agent}}: {{result.output}} / {{results.0.output}} / [{{result.nothing.at.all}}] / {{input.names}}',
      },
    ]
    const ask = { ask: () => ({ ok: true, value: JSON.stringify({ output: 'größer 😀' }) }) }
    const { outcome, steps } = await run(
      rules,
      { task: 'größe 👍', input: { names: ['Ä', '二'], n: 7 } },
      { tools: ask },
    )
    expect(steps.toolsRun[0]?.input).toEqual({
      all: { names: ['Ä', '二'], n: 7 },
      first: 'Ä',
      note: 'größe 👍 #1',
      deep: [{ x: 7 }],
      none: '',
    })
    expect(outcome.output).toBe('worker: größer 😀 / größer 😀 / [] / ["Ä","二"]')
  })

  it('does not read through prototypes', async () => {
    expect(
      (await run([{ say: 'x{{input.constructor.name}}{{input.__proto__}}' }], { input: {} })).outcome.output,
    ).toBe('x')
  })
})

describe('scripted rules in a loop', () => {
  it('fails clearly when no rule fits', async () => {
    const { outcome } = await run([{ when: { task: 'other' }, say: 'x' }])
    expect(outcome).toMatchObject({
      outcome: 'failed',
      error: expect.stringMatching(/^script_failed: no rule of worker fits the task "do it" at iteration 1/),
    })
  })

  it('waits, fails and hangs as told', async () => {
    const waited = await run([{ delayMs: 250, say: 'late' }])
    expect(waited.clock.sleeps).toEqual([250])
    expect((await run([{ fail: 'no {{task}} today' }])).outcome).toMatchObject({
      outcome: 'failed',
      error: 'script_failed: no do it today',
    })
    const controller = new AbortController()
    const hanging = run([{ hang: true }], {}, { signal: controller.signal })
    await new Promise((resolve) => setImmediate(resolve))
    controller.abort(new Error('deadline'))
    await expect(hanging).rejects.toThrow('deadline')
  })

  it('runs tools in parallel, sees the last result, and ends at the iteration limit', async () => {
    const tools = { a: () => ({ ok: true, value: 1 }), b: () => ({ ok: false, value: 'no' }) }
    const both = { name: 'x', tools: [{ name: 'a' }, { name: 'b' }] }
    const { outcome } = await run(
      [
        { when: { iteration: 1 }, tools: both.tools },
        { when: { tool: 'b', ok: true }, say: 'b went well' },
        { when: { tool: 'b', ok: false }, say: '{{results}}' },
      ],
      {},
      { tools },
    )
    expect(outcome.output).toBe('[1,"no"]')
    expect((await run([{ tools: both.tools }], { maxIterations: 3 }, { tools })).outcome).toMatchObject({
      outcome: 'failed',
      error: 'iteration limit of 3 reached',
    })
  })

  it('estimates usage over all that a model would have read', async () => {
    const small = await run([{ say: 'one two three' }])
    const large = await run([{ say: 'one two three' }], {
      tools: [toolSpec('a')],
      system: 'many more words of a prompt',
    })
    expect(small.steps.recorded[0]?.usage).toMatchObject({ output: 3, estimated: true })
    expect(large.steps.recorded[0]?.usage?.input).toBeGreaterThan(small.steps.recorded[0]?.usage?.input ?? 0)
    expect((await run([{ tools: [{ name: 'a' }] }], {}, { tokens: 5 })).outcome.outcome).toBe(
      'budget_exhausted',
    )
  })

  it.each([
    [[{ when: { task: 'x' } }], /at least one of say, tools, fail and hang/],
    [[{ say: '{{tasks}}' }], /\{\{tasks\}\} is not known; the known ones are \{\{agent\}\}/],
    [[{ tools: [{ name: 'a', input: { deep: ['{{nothing}}'] } }] }], /is not known/],
    [[{ when: { task: { regex: '(' } }, say: 'x' }], /regular expression/],
    [[{ say: 'x', sya: 'y' }], /sya/],
  ])('refuses a bad script when it is read: %j', (script, words) => {
    const parsed = Script.safeParse(script)
    expect(parsed.success ? '' : JSON.stringify(parsed.error.issues)).toMatch(words)
  })
})

describe('scripted functions', () => {
  it('use tools, say and think, each recorded once', async () => {
    const source: ScriptedFunction = async (turn) => {
      turn.say('Working on it. ')
      const found = await turn.tool('find', { q: turn.task })
      const thought = await turn.think(`I found ${JSON.stringify(found.value)}.`)
      return `${thought} ${turn.prompt} ${JSON.stringify(turn.input)}`
    }
    const tools = {
      find: (input: unknown) => ({ ok: true, value: (input as { q: string }).q.toUpperCase() }),
    }
    const first = await run(source, { input: { a: 1 } }, { tools })
    expect(first.outcome).toEqual({
      outcome: 'completed',
      output: 'I found "DO IT". Task: do it {"a":1}',
      error: null,
      iterations: 1,
    })
    expect(first.steps.recorded.map((step) => step.kind)).toEqual(['tool', 'model'])
    // The context of the thought: system, prompt and the result of the tool.
    expect(first.steps.recorded[1]?.usage).toEqual({
      input: countWords('You work.') + countWords('Task: do it') + countWords('DO IT'),
      output: countWords('I found "DO IT".'),
      estimated: true,
    })
    const again = await run(source, { input: { a: 1 } }, { recorded: first.steps.recorded })
    expect(again.outcome).toEqual(first.outcome)
    expect(again.steps.effects).toBe(0)
  })

  it('may be plain functions, and fail with their own words', async () => {
    expect((await run(() => 'done')).outcome).toMatchObject({ outcome: 'completed', output: 'done' })
    expect((await run(() => ' ')).outcome).toMatchObject({ outcome: 'failed', error: 'empty_output' })
    expect(
      (
        await run(() => {
          throw new Error('no idea')
        })
      ).outcome,
    ).toMatchObject({ outcome: 'failed', error: 'script_failed: no idea' })
  })

  it('end with what they said when the budget is used up', async () => {
    const source: ScriptedFunction = async (turn) => {
      for (;;) await turn.think('thinking')
    }
    expect((await run(source, {}, { tokens: 20 })).outcome).toMatchObject({
      outcome: 'budget_exhausted',
      output: 'thinking',
    })
  })

  it('do not hide what the runtime itself threw', async () => {
    const tools = { gone: () => Promise.reject(new Fenced('taken over')) }
    await expect(
      run((turn: Parameters<ScriptedFunction>[0]) => turn.tool('gone', null).then(() => 'x'), {}, { tools }),
    ).rejects.toThrow('taken over')
  })

  it('are left behind when they ignore the signal', async () => {
    const controller = new AbortController()
    const running = run(() => new Promise<string>(() => undefined), {}, { signal: controller.signal })
    controller.abort(new Error('deadline'))
    await expect(running).rejects.toThrow('deadline')
  })
})
