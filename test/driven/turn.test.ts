/** One turn of an agent that we drive, over real pipes and a real server. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { driveFake } from '../kits/driven.ts'

test('what it says is the output, and what it was seen to do is recorded', async () => {
  const { call, events, directory, log, processes } = await driveFake()
  const answer = await call('plan first\nedit a.txt\nsay hello\nsay world')
  expect(answer).toMatchObject({
    outcome: 'completed',
    output: 'hello\nworld',
    tokens_used: 110,
    tool_calls: ['edit'],
  })
  expect(readFileSync(join(directory, 'a.txt'), 'utf8')).toBe('new\n')
  const steps = await events('step.ended')
  expect(steps.map(({ kind, name, ok }) => [kind, name, ok])).toEqual([
    ['tool', 'acp_session', true],
    ['tool', 'plan', true],
    ['tool', 'edit', true],
    ['model', 'fake', true],
  ])
  expect(steps[2]?.output).toEqual({ diffs: [{ path: 'a.txt', oldText: null, newText: 'new\n' }] })
  expect(steps[1]?.output).toEqual([{ content: 'first', status: 'pending', priority: 'high' }])
  expect(log().find((entry) => 'prompt' in entry)?.['prompt']).toMatch(
    /session ses_\d+[\s\S]*Task: plan first/,
  )
  // A session that a call made is over with it.
  await vi.waitFor(() => expect(processes()).toEqual([]))
})

test('its text streams as it comes', async () => {
  const { call, served } = await driveFake()
  const heard: string[] = []
  served.line.onDelta(({ text }) => heard.push(text))
  await call('say one\nwait 50\nsay two')
  expect(heard).toEqual(['one\n', 'two\n'])
})

test('it reaches our tools with the token of its turn, in its place of the tree, one hop deeper', async () => {
  const { call, events } = await driveFake()
  const ask = JSON.stringify({ agent_name: 'echo', task: 'from below' })
  const answer = await call(`tool sub_agent ${ask}`, { allow_nested_calls: true })
  expect(answer).toMatchObject({ outcome: 'completed', output: expect.stringContaining('echo: from below') })
  const opened = await events('call.opened')
  expect(opened.map(({ grant }) => [grant.agent, grant.depth])).toEqual([
    ['fake', 1],
    ['echo', 2],
  ])
  expect(opened[1]?.grant.path.map(({ agent }) => agent)).toEqual(['external', 'fake', 'echo'])
})

test('without nested calls it is refused by the runtime, whatever it tries', async () => {
  const { call } = await driveFake()
  const ask = JSON.stringify({ agent_name: 'echo', task: 'from below' })
  const answer = await call(`tool sub_agent ${ask}`)
  expect(answer.output).toMatch(/refused|not available|may not/)
})

test('an agent that never connects to our tools works, and its record says so', async () => {
  const { call, events } = await driveFake({ connects: false })
  expect(await call('say hi')).toMatchObject({ outcome: 'completed', output: 'hi' })
  const [note] = await events('step.ended')
  expect(note).toMatchObject({ name: 'acp_session', ok: false })
  expect(JSON.stringify(note?.output)).toContain('has not connected')
})

test('garbage on its output is passed over', async () => {
  const { call } = await driveFake({ garbage: true })
  expect(await call('say hi')).toMatchObject({ outcome: 'completed', output: 'hi' })
})

test('an answer without a word is a failure, never an empty success', async () => {
  const { call } = await driveFake()
  expect(await call('think')).toMatchObject({ outcome: 'failed', errors: ['empty_output'] })
})

test.each([
  ['turn', 110],
  ['quota', 44],
] as const)('usage as %s is taken as it is said', async (usage, tokens) => {
  const { call } = await driveFake({ usage })
  expect(await call('say hi')).toMatchObject({ tokens_used: tokens })
})

test('an agent that says nothing of its usage is counted by what was seen, marked as an estimate', async () => {
  const { call, events } = await driveFake({ usage: 'none' })
  const { tokens_used: used } = await call('say hi there')
  expect(used).toBeGreaterThan(10)
  const model = (await events('step.ended')).find(({ kind }) => kind === 'model')
  expect(model?.usage).toMatchObject({ estimated: true })
})

test('it runs in the directory of its caller, with no key of the environment unless it bills by key', async () => {
  vi.stubEnv('FAKE_API_KEY', 'sk-1')
  const plan = await driveFake()
  await plan.call('say hi')
  expect(plan.log()[0]).toMatchObject({ keys: [] })
  expect(plan.log().find((entry) => 'new' in entry)).toMatchObject({ cwd: plan.directory, servers: 1 })
  const key = await driveFake({}, { billing: 'key' })
  await key.call('say hi')
  expect(key.log()[0]).toMatchObject({ keys: ['FAKE_API_KEY'] })
  vi.unstubAllEnvs()
})

test('a replay leaves the turns of driven agents out, and compares all others', async () => {
  const { served, call } = await driveFake()
  const { call_id: id } = await call('say hi')
  expect(await served.line.log.replay(id)).toMatchObject({ equal: true, turns: [] })
})

test.each([
  ['the size of its context', 'use 5000'],
  ['its text', `say ${'many words '.repeat(600)}`],
])('a budget ends a prompt in the middle, as soon as %s shows that it is spent', async (_by, line) => {
  const { call, processes } = await driveFake()
  const answer = await call(`say begun\n${line}\nwait 60000\nsay never`, { max_tokens: 2000 })
  expect(answer).toMatchObject({ outcome: 'budget_exhausted', output: expect.stringMatching(/^begun/) })
  expect(answer.output).not.toContain('never')
  expect(answer.errors.join()).toMatch(/stopped after about \d+ tokens, and \d+ were left/)
  expect(answer.tokens_used).toBeGreaterThan(2000)
  await vi.waitFor(() => expect(processes()).toEqual([]))
})
