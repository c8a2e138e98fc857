import { describe, expect, it } from 'vitest'
import { countWords, memorySteps, type StepsOptions, testClock, turnInput } from '../../../test/kits/turns.ts'
import { world } from '../../../test/kits/world.ts'
import { Agent } from '../../model/agent.ts'
import { askedMax, demoAgent, pacedDemoAgent } from './demo-agent.ts'
import { scriptedDriver } from './drive.ts'

const never = new AbortController().signal
const agent = (name: string, title?: string): Agent =>
  Agent.parse({ name, ...(title !== undefined && { title }) })

const answering: NonNullable<StepsOptions['tools']> = {
  call_agent: (input) => ({
    ok: true,
    value: {
      response: `answer of ${(input as { agent_id: string }).agent_id}`,
      outcome: 'completed',
      error: null,
    },
  }),
}

async function tell(task: string, callable: readonly Agent[], options: StepsOptions = { tools: answering }) {
  const steps = memorySteps(options)
  const driver = scriptedDriver(demoAgent, { clock: testClock(), count: countWords })
  const outcome = await driver.run(
    turnInput({ task, callable, agent: agent('me', 'Coordinator') }),
    steps,
    never,
  )
  return {
    ...outcome,
    asked: steps.toolsRun.map(({ input }) => input as { agent_id: string; message: string }),
    steps,
  }
}
const askedIn = async (task: string, ...callable: Agent[]): Promise<string[]> =>
  (await tell(task, callable)).asked.map(({ agent_id }) => agent_id)

describe('the offline demo agent', () => {
  it('says that it is the demo, and what it was told', async () => {
    const { outcome, output, steps } = await tell('Hello there', [agent('helper')])
    expect(outcome).toBe('completed')
    expect(output).toMatch(/^This is Coordinator, the offline demo agent.*I was told: "Hello there"$/)
    expect(steps.toolsRun).toEqual([])
    expect(steps.emitted).toEqual([output])
  })

  it('asks an agent that the message names, and answers with its answer', async () => {
    const { output, asked } = await tell('Ask the Helper agent for assistance', [
      agent('agent-1', 'helper'),
      agent('other'),
    ])
    expect(asked).toEqual([
      { agent_id: 'agent-1', message: 'You are named in this message: Ask the Helper agent for assistance' },
    ])
    expect(output).toMatch(/\n\nhelper answered: answer of agent-1$/)
  })

  it('knows an agent by its id and by its name, as whole words in any case', async () => {
    const helper = agent('agent-1', 'helper')
    expect(await askedIn('please ask AGENT-1.', helper)).toEqual(['agent-1'])
    expect(await askedIn('HELPER, are you there?', helper)).toEqual(['agent-1'])
    expect(
      await askedIn('helpers help; helper-2, helper_x, helper.ts, my.helper and xhelper too', helper),
    ).toEqual([])
    expect(await askedIn('frag größe2', agent('g1', 'größe'))).toEqual([])
    expect(await askedIn('frag Größe: jetzt', agent('g1', 'größe'))).toEqual(['g1'])
    expect(await askedIn('what costs $5 (c++)', agent('cpp', '(c++)'))).toEqual(['cpp'])
  })

  it('takes the longest name at a place, and one agent for each place', async () => {
    const agents = [agent('a1', 'helper'), agent('a2', 'helper two'), agent('a3', 'helper')]
    expect(await askedIn('ask helper two', ...agents)).toEqual(['a2'])
    expect(await askedIn('ask helper and helper two and helper again', ...agents)).toEqual(['a1', 'a2'])
    expect(await askedIn('two helper two', agent('b1', 'two helper'), agent('b2', 'helper two'))).toEqual([
      'b1',
    ])
  })

  it('never asks itself, and asks at most three, in the order of the message', async () => {
    expect(await askedIn('me and coordinator', agent('x'))).toEqual([])
    const { asked, output } = await tell(
      'd, then c, b, a and d again',
      ['a', 'b', 'c', 'd'].map((name) => agent(name)),
    )
    expect(asked.map(({ agent_id }) => agent_id)).toEqual(['d', 'c', 'b'])
    expect(asked).toHaveLength(askedMax)
    expect(output).toMatch(/so I did not ask a\.$/)
  })

  it('names nobody else in what it hands on, so that nobody is asked twice', async () => {
    const { asked } = await tell('coordinator: ask alpha and beta', [agent('alpha'), agent('beta')])
    expect(asked.map(({ message }) => message)).toEqual([
      'You are named in this message: another agent: ask alpha and another agent',
      'You are named in this message: another agent: ask another agent and beta',
    ])
  })
})

describe('the offline demo agent, refused or watched', () => {
  it('tells of calls that were refused or came to nothing', async () => {
    const refused = await tell('ask alpha', [agent('alpha')], {
      tools: {
        call_agent: () => ({ ok: false, value: { error: { code: 'tool_disabled', message: 'Not here.' } } }),
      },
    })
    expect(refused).toMatchObject({
      outcome: 'completed',
      output: expect.stringMatching(/\n\nalpha did not answer \(refused\): Not here\.$/) as unknown,
    })
    const late = await tell('ask alpha', [agent('alpha')], {
      tools: {
        call_agent: () => ({
          ok: false,
          value: { response: 'half', outcome: 'timed_out', error: 'no answer within 30 s' },
        }),
      },
    })
    expect(late.output).toMatch(
      /alpha did not answer \(timed_out\): no answer within 30 s So far it had said: half$/,
    )
  })

  it('says the same at a pace: word by word, and at once from its record', async () => {
    let pauses = 0
    const clock = { now: () => 0, sleep: async () => void (pauses += 1) }
    const run = async (options: StepsOptions) => {
      const steps = memorySteps(options)
      const outcome = await scriptedDriver(pacedDemoAgent(clock), {
        clock: testClock(),
        count: countWords,
      }).run(turnInput({ task: 'ask  alpha', callable: [agent('alpha')], agent: agent('me') }), steps, never)
      return { ...outcome, steps }
    }
    const first = await run({ tools: answering })
    expect(first.output).toBe(
      (await tell('ask  alpha', [agent('alpha')], { tools: answering })).output.replace('Coordinator', 'me'),
    )
    expect(first.steps.emitted.join('')).toBe(
      `alpha is named here. I ask, and wait for the answer.${first.output}`,
    )
    expect(pauses).toBe(first.steps.emitted.length)
    expect(pauses).toBeGreaterThan(20)
    const again = await run({ tools: answering, recorded: first.steps.recorded })
    expect([again.output, again.steps.effects]).toEqual([first.output, 0])
  })
})

describe('the offline demo agent among others', () => {
  it('asks the one of its own kind, where two have one name', async () => {
    const twins = [
      Agent.parse({ name: 'a1', title: 'helper' }),
      Agent.parse({ name: 'a2', title: 'helper', model: 'demo/paced' }),
    ]
    const asked = async (model?: string): Promise<string | undefined> => {
      const steps = memorySteps({ tools: answering })
      await scriptedDriver(demoAgent, { clock: testClock(), count: countWords }).run(
        turnInput({
          task: 'ask helper',
          callable: twins,
          agent: Agent.parse({ name: 'me', ...(model === undefined ? {} : { model }) }),
        }),
        steps,
        never,
      )
      return (steps.toolsRun[0]?.input as { agent_id: string } | undefined)?.agent_id
    }
    expect([await asked(), await asked('demo/paced')]).toEqual(['a1', 'a2'])
  })

  it('says the same again from its record, without asking anybody', async () => {
    const first = await tell('ask alpha', [agent('alpha')])
    const again = await tell('ask alpha', [agent('alpha')], {
      tools: answering,
      recorded: first.steps.recorded,
    })
    expect(again.output).toBe(first.output)
    expect(again.steps.effects).toBe(0)
  })

  it('walks through agents that are demos too, in the real runtime', async () => {
    const demo = { script: demoAgent, tools: ['call_agent'] }
    const small = await world({
      agents: { helper: demo, coordinator: demo, loner: { ...demo, allowSubAgentCalls: false } },
    })
    const result = await small.run('coordinator', 'Ask the helper agent for assistance')
    expect(result).toMatchObject({ success: true, toolCalls: ['call_agent'] })
    expect(result.output).toMatch(
      /^This is coordinator[\s\S]*\n\nhelper answered: This is helper, the offline demo agent/,
    )
    expect(result.output).toMatch(/the offline demo agent[\s\S]*Ask the helper agent for assistance"$/)
    expect((await small.events('call.opened')).map(({ event }) => event.grant.agent)).toEqual(['helper'])
    expect((await small.run('coordinator', 'Coordinator, ask helper and loner.')).output).toMatch(
      /helper answered: [\s\S]*loner answered: /,
    )
    expect(await small.events('call.refused')).toEqual([])
    expect((await small.run('loner', 'Ask helper.')).output).not.toContain('helper answered')
  })
})
