/** What waits for a person, and requests as lists show them. */
import { expect, test } from 'vitest'
import { isRefusal, type Refusal } from '../../model/refusal.ts'
import type { Tool } from '../kernel/ports.ts'
import { world, type World } from '../../../test/kits/world.ts'

const danger: Tool = {
  name: 'danger',
  effect: 'write',
  calling: false,
  describe: () => ({ name: 'danger', description: '', input: {} }),
  run: async () => ({ ok: true, value: 'done' }),
}

const got = <T extends object>(value: T | Refusal | null): T => {
  if (value === null || isRefusal(value)) throw new Error(JSON.stringify(value))
  return value
}
const needsIn = async (w: World) => got(await w.desks.as({}).log.needs()).needs
const flowsIn = async (w: World, state?: 'failed' | 'live' | 'unseen') =>
  got(await w.desks.as({}).log.flows({ state })).flows

const asking = () =>
  world({
    agents: {
      planner: {
        allowSubAgentCalls: true,
        script: async (turn) =>
          JSON.stringify((await turn.tool('sub_agent', { agent_name: 'coder', task: 'Write it' })).value),
      },
      coder: {
        ask: ['danger'],
        script: async (turn) => {
          await turn.think('I have to remove the old one first.')
          const first = await turn.tool('danger', { path: 'old' })
          const second = await turn.tool('danger', { path: 'older' })
          return JSON.stringify([first.value, second.value])
        },
      },
    },
    tools: [danger],
    asks: true,
  })

test('a question has all that a person needs to answer it', async () => {
  const w = await asking()
  w.ask('planner', 'Renew everything', { cwd: '/tmp' })
  await w.rest()
  const [need] = await needsIn(w)
  expect(need).toMatchObject({
    kind: 'question',
    title: 'coder wants to run danger',
    agent: 'coder',
    cwd: '/tmp',
    task: 'Write it',
    request: 'Renew everything',
    path: ['you', 'planner', 'coder'],
    lastWords: 'I have to remove the old one first.',
    tool: 'danger',
    input: { path: 'old' },
    acts: ['allow', 'allow_session', 'deny'],
    deadline: (await w.events('question.asked'))[0]?.event.deadline,
  })
  expect(need?.deadline).toBeGreaterThan(w.clock.now())
  const [flow] = await flowsIn(w, 'live')
  expect(flow).toMatchObject({ state: 'asking', title: 'Renew everything', outcome: null })
  expect(flow?.waitsFor).toContain('danger')
  expect(flow?.waitsFor).toContain('coder')
})

test('allowed for the session, it is not asked about again, and the record says so', async () => {
  const w = await asking()
  const run = w.ask('planner', 'Renew everything')
  await w.rest()
  const questions = w.desks.as({}).questions
  const [need] = await needsIn(w)
  await questions.answer(need?.id ?? '', { answer: 'allow', scope: 'session' })
  expect((await w.until(run)).output).toContain('done')
  const answered = await w.events('question.answered')
  expect(answered.map(({ event }) => [event.answer, event.by])).toEqual([
    ['allow', 'user'],
    ['allow', 'user, for this session'],
  ])
  expect(await needsIn(w)).toEqual([])
})

test('the model reads why it was denied', async () => {
  const w = await asking()
  const run = w.ask('planner', 'Renew everything')
  await w.rest()
  const questions = w.desks.as({}).questions
  const answer = async (): Promise<void> => {
    const [need] = await needsIn(w)
    await questions.answer(need?.id.slice(-12) ?? '', { answer: 'deny', reason: 'Keep the backup.' })
    await w.rest()
  }
  await answer()
  await answer()
  expect((await w.until(run)).output).toContain('They said: Keep the backup.')
})

test('a failed request waits until a person has seen it, and is counted as one', async () => {
  const w = await world({
    agents: { coder: { script: async () => Promise.reject(new Error('no compiler here')) } },
  })
  await w.run('coder', 'Build it')
  await w.run('coder', 'Build it again')
  const failed = await flowsIn(w, 'failed')
  expect(failed.map(({ title, outcome }) => [title, outcome])).toEqual([
    ['Build it again', 'failed'],
    ['Build it', 'failed'],
  ])
  const needs = await needsIn(w)
  expect(needs.map(({ kind, acts }) => [kind, acts])).toEqual([
    ['failure', ['seen']],
    ['failure', ['seen']],
  ])
  expect(needs[0]?.text).toContain('no compiler here')
  expect(needs.map(({ request }) => request)).toEqual(['Build it again', 'Build it'])
  const { log } = w.desks.as({})
  expect(await log.see('last')).toMatchObject({ seen: true })
  expect(await log.see('last')).toMatchObject({ seen: true })
  expect((await w.events('flow.seen')).length).toBe(1)
  expect((await needsIn(w)).map(({ task }) => task)).toEqual(['Build it'])
  expect((await flowsIn(w, 'unseen')).length).toBe(1)
})

test("a client's request shows the end of what it asked for, under its task", async () => {
  const w = await world({
    agents: { coder: { script: async () => Promise.reject(new Error('no compiler here')) } },
  })
  const client = w.desks.as({ client: { name: 'claude-code', cwd: '/tmp' } })
  await w.until(client.calls.open({ agent: 'coder', task: 'Build it' }))
  await w.until(client.calls.open({ agent: 'nobody', task: 'Paint it' }))
  const flows = await flowsIn(w)
  expect(flows.map(({ title, outcome, askedBy, agent }) => [title, outcome, askedBy, agent])).toEqual([
    ['Paint it', 'refused', 'claude-code', ''],
    ['Build it', 'failed', 'claude-code', 'coder'],
  ])
  const flow = await w.desks.as({}).log.flow(flows[1]?.flow ?? '')
  expect(flow?.root).toMatchObject({ outcome: 'failed', title: 'Build it', askedBy: 'claude-code' })
  expect(flow?.root.error).toContain('no compiler here')
})

test('what runs or was cancelled shows what it has used so far', async () => {
  const w = await world({
    agents: {
      planner: {
        allowSubAgentCalls: true,
        script: async (turn) =>
          JSON.stringify((await turn.tool('sub_agent', { agent_name: 'coder', task: 'Write it' })).value),
      },
      coder: {
        ask: ['danger'],
        script: async (turn) => {
          await turn.think('A few words that cost something.')
          return JSON.stringify((await turn.tool('danger', {})).value)
        },
      },
    },
    tools: [danger],
    asks: true,
  })
  const run = w.ask('planner', 'Go')
  await w.rest()
  const [running] = await flowsIn(w, 'live')
  expect(running?.tokensUsed).toBeGreaterThan(0)
  const before = await w.desks.as({}).log.flow(running?.flow ?? '')
  expect(before?.calls[0]?.tokensUsed).toBe(running?.tokensUsed)
  await run.cancel()
  await w.until(run)
  const after = await w.desks.as({}).log.flow(running?.flow ?? '')
  expect(after?.root.outcome).toBe('cancelled')
  expect(after?.tokensUsed).toBe(running?.tokensUsed)
  const [call] = got(await w.desks.as({}).calls.list()).calls
  expect(call?.tokensUsed).toBe(running?.tokensUsed)
  expect(got(await w.desks.as({}).calls.get('last')).tokensUsed).toBe(running?.tokensUsed)
})

test('only the user sees what waits for the user, and finds flows by a part', async () => {
  const w = await world({ agents: { coder: {} } })
  await w.run('coder', 'x')
  const [session] = got(await w.desks.as({}).sessions.list({})).sessions
  const who = { kind: 'session' as const, session: session?.id ?? 'ses_none' }
  const { log } = w.desks.as({ who })
  expect(await log.needs()).toMatchObject({ code: 'not_allowed' })
  expect(await log.flows({})).toMatchObject({ code: 'not_allowed' })
  expect(await log.see('last')).toMatchObject({ code: 'not_allowed' })
  expect(await log.findFlow('last')).toEqual({ id: 'last' })
  expect(await w.desks.as({}).log.findFlow('flow_')).toMatchObject({ id: expect.any(String) as string })
  await w.run('coder', 'y')
  expect(await w.desks.as({}).log.findFlow('flow_')).toMatchObject({ code: 'bad_input' })
})

test('a session without a title goes by the first words of its first message', async () => {
  const w = await world({ agents: { coder: {} } })
  await w.run('coder', 'Build the\n\nwhole thing')
  const [session] = got(await w.desks.as({}).sessions.list({})).sessions
  expect(session?.title).toBe('Build the whole thing')
  expect(session?.away).toBe(false)
})

test('a provider that is asked again is shown while it is, and no longer', async () => {
  const w = await world({
    agents: {
      slow: {
        driver: {
          run: async (_turn, steps) => {
            const output = await steps.step('model', 'm', 'go', async (signal) => {
              steps.remark?.('the provider is asked again in 9 s (try 2 of 5): 429 slow down')
              await w.clock.sleep(9000, signal)
              return { value: 'done', usage: null }
            })
            await w.clock.sleep(9000)
            return { outcome: 'completed', output, error: null, iterations: 1 }
          },
        },
      },
    },
  })
  const remarks: string[] = []
  const { log } = w.desks.as({})
  const listen = () =>
    log.follow(log.lastSeq(), null, {
      events: () => undefined,
      delta: ({ remark = '' }) => remarks.push(remark),
    })
  listen()
  const run = w.ask('slow', 'Write it')
  await w.pass(1)
  expect(remarks).toEqual(['the provider is asked again in 9 s (try 2 of 5): 429 slow down'])
  const [flow] = await flowsIn(w, 'live')
  expect(flow).toMatchObject({ state: 'running', waitsFor: expect.stringContaining('429 slow down') })
  expect(got(await log.explain('last')).text).toContain('try 2 of 5')
  await w.pass(9001)
  expect((await flowsIn(w, 'live'))[0]?.waitsFor).toBe('')
  await w.until(run)
})

test('what came last is listed first, whatever kind it is', async () => {
  const w = await asking()
  for (const task of ['first', 'second', 'third']) {
    void w.ask('planner', task).then(undefined, () => undefined)
    await w.pass(1000)
  }
  const needs = await needsIn(w)
  expect(needs.map(({ request }) => request)).toEqual(['third', 'second', 'first'])
})
