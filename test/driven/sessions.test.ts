/** Sessions of driven agents that live on: the same agent again, after a while, after a crash. */
import { expect, test, vi } from 'vitest'
import { tielineClient } from '../../src/client/client.ts'
import { isRefusal } from '../../src/model/refusal.ts'
import { driveFake, type Driven } from '../kits/driven.ts'

const prompts = ({ log }: Driven): unknown[] =>
  log()
    .filter((entry) => 'prompt' in entry)
    .map((entry) => entry['prompt'])

async function talk({ served }: Driven, session: string, message: string): Promise<string> {
  return (await served.line.run('fake', message, { session })).output
}

async function openSession({ served, directory }: Driven): Promise<string> {
  const made = await served.line.sessions.create({ cwd: directory, agent: 'fake' })
  if (isRefusal(made)) throw new Error(JSON.stringify(made))
  return made.sessionId
}

test('a second turn of a session goes to the same process, which knows what was said', async () => {
  const world = await driveFake()
  const session = await openSession(world)
  expect(await talk(world, session, 'say one')).toBe('one')
  expect(await talk(world, session, 'say two')).toBe('two')
  expect(world.log().filter((entry) => 'started' in entry)).toHaveLength(1)
  expect(prompts(world)[1]).toBe('say two')
})

test('the token of the first turn means the turn that runs, and nothing between turns', async () => {
  const world = await driveFake()
  const session = await openSession(world)
  await talk(world, session, 'say one')
  const ask = JSON.stringify({ agent_name: 'echo', task: 'again' })
  expect(await talk(world, session, `tool sub_agent ${ask}`)).toContain('echo: again')
  const opened = await world.events('call.opened')
  expect(opened).toHaveLength(1)
  expect(opened[0]?.session).toBe(session)
})

test('usage that is counted over the life of a process is taken as differences', async () => {
  const world = await driveFake({ usage: 'process' }, { preset: 'copilot' })
  const session = await openSession(world)
  for (const text of ['say one', 'say two', 'say three']) await talk(world, session, text)
  const usages = (await world.events('step.ended')).flatMap(({ usage }) => (usage === null ? [] : [usage]))
  expect(usages).toEqual(Array(3).fill({ input: 100, output: 10, estimated: false }))
})

test('text of an old conversation that comes after it was loaded is not taken for an answer', async () => {
  const world = await driveFake({ lateChunks: true, diesAt: 2, usage: 'quota' }, { preset: 'gemini' })
  const session = await openSession(world)
  await talk(world, session, 'say one')
  // It dies at its second prompt, is loaded again, and goes on replaying for a while.
  const output = await talk(world, session, 'wait 600\nsay two')
  expect(output).not.toContain('old:')
  expect(output).toContain('two')
})

test('a restart of the server opens the session again with what the agent kept', async () => {
  const world = await driveFake()
  const session = await openSession(world)
  await talk(world, session, 'say one')
  await world.served.close()
  await vi.waitFor(() => expect(world.processes()).toEqual([]), { timeout: 15_000 })
  const again = await world.restart()
  expect(await talk(again, session, 'say two')).toBe('two')
  expect(again.log().filter((entry) => 'load' in entry)).toHaveLength(1)
  expect(prompts(again)[1]).toBe('say two')
})

test('an agent that has forgotten the session starts anew, and is told what was said', async () => {
  const world = await driveFake({ canLoad: false })
  const session = await openSession(world)
  await talk(world, session, 'say one')
  await world.served.close()
  const again = await world.restart()
  expect(await talk(again, session, 'say two')).toContain('two')
  expect(prompts(again)[1]).toMatch(/The conversation so far[\s\S]*say one[\s\S]*say two/)
})

test('a message to a driven session is a turn, and its answer goes to the conversation', async () => {
  const world = await driveFake()
  const session = await openSession(world)
  await world.served.line.sessions.send(session, { message: 'say by mail' })
  await world.served.line.sessions.wait(session, 10_000)
  await vi.waitFor(async () => {
    const state = await world.served.line.sessions.state(session)
    expect(state).toMatchObject({ status: 'idle', lastMessage: { content: 'by mail' } })
  })
})

test('create_agent_session opens one with a first message, and an agent message to it is its next turn', async () => {
  const world = await driveFake()
  const client = tielineClient({ url: world.served.url, name: 'claude-code/2', cwd: world.directory })
  const use = async (tool: string, input: Record<string, string>): Promise<Record<string, unknown>> =>
    (await client.tools.use(tool, input)).value as Record<string, unknown>
  const asked = { cwd: world.directory, agent: 'fake', initialMessage: 'say first' }
  const sessionId = String((await use('create_agent_session', asked))['sessionId'])
  expect(await use('wait_for_session', { sessionId })).toMatchObject({ lastMessage: { content: 'first' } })
  await use('send_agent_message', { sessionId, message: 'say second' })
  expect(await use('wait_for_session', { sessionId })).toMatchObject({ lastMessage: { content: 'second' } })
  // The same process: it knows what was said.
  expect(world.log().filter((entry) => 'new' in entry)).toHaveLength(1)
})
