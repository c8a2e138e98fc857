/** What a program does with `tieline`: its own agents, tools and drivers on one line. */
import assert from 'node:assert/strict'
import { z } from 'zod'
import {
  ConfigError,
  defineAgent,
  defineDriver,
  defineTool,
  explain,
  ImportFault,
  isRefusal,
  openLog,
  OptionsError,
  StoreFault,
  tieline,
  UnknownId,
  type CallRecord,
  type Refusal,
  type Tieline,
} from 'tieline'

export const weather = defineTool({
  name: 'weather',
  description: 'Tells the weather in a city.',
  input: z.object({ city: z.string(), days: z.number().default(1) }),
  effect: 'read',
  async run({ city, days }, { session, signal }) {
    signal.throwIfAborted()
    // @ts-expect-error -- the schema decides what there is
    assert.equal(city.nothing, undefined)
    return { city: city.toUpperCase(), days: days.toFixed(0), cwd: session.cwd.length > 0 }
  },
})

export const echo = defineDriver({
  async run(turn, steps, signal) {
    signal.throwIfAborted()
    const text = await steps.step('model', 'echo', { task: turn.task }, async () => ({
      value: `heard: ${turn.task}`,
      usage: { input: 3, output: 2, estimated: true },
    }))
    steps.emit(text)
    return text
  },
})

export const guide = defineAgent({
  tools: ['weather'],
  script: async (turn) => JSON.stringify((await turn.tool('weather', { city: 'Oslo' })).value),
})

export const openLine = (): Promise<Tieline> =>
  tieline({
    tools: [weather],
    agents: { guide, parrot: { driver: echo }, editor: { script: [{ say: 'edited' }] } },
  })

/** A refusal is a value; this throws it. */
export function unwrap<T extends object>(answer: T): Exclude<T, Refusal> {
  if (isRefusal(answer)) throw new Error(explain(answer))
  return answer as Exclude<T, Refusal>
}

export async function useLine(line: Tieline): Promise<CallRecord> {
  assert.equal((await line.run('guide', 'go')).output, '{"city":"OSLO","days":"1","cwd":true}')
  const said: string[] = []
  line.onDelta((delta) => said.push(delta.text))
  assert.equal((await line.run('parrot', 'hi')).output, 'heard: hi')
  assert.deepEqual(said, ['heard: hi'])

  const answer = unwrap(await line.calls.open({ agent: 'parrot', task: 'call me', timeout_seconds: 5 }))
  assert.equal(answer.output, 'heard: call me')
  const record = unwrap(await line.calls.get(answer.call_id))
  assert.deepEqual([record.caller, record.target, record.outcome], ['external', 'parrot', 'completed'])
  assert.equal(unwrap(await line.calls.list({ limit: 10 })).calls[0]?.call, answer.call_id)

  const { sessionId } = unwrap(await line.sessions.create({ agent: 'parrot', cwd: process.cwd() }))
  unwrap(await line.sessions.send(sessionId, { message: 'a line' }))
  assert.equal(unwrap(await line.sessions.wait(sessionId)).lastMessage?.content, 'heard: a line')
  assert.equal(unwrap(await line.sessions.history(sessionId)).messages.length, 2)
  assert.ok(unwrap(await line.sessions.list()).sessions.some(({ id }) => id === sessionId))

  const letter = unwrap(await line.mail.send({ session: sessionId, message: 'a letter' }))
  assert.equal(unwrap(await line.mail.inbox(sessionId)).messages[0]?.id, letter.id)
  assert.equal(unwrap(await line.mail.accept(sessionId, 'oldest')).message?.message, 'a letter')

  const made = unwrap(await line.agents.create({ name: 'helper' }))
  assert.ok((await line.agents.list()).agents.some(({ id }) => id === made.id))
  assert.equal(unwrap(await line.agents.delete(made.id)).name, 'helper')
  assert.deepEqual(unwrap(await line.questions.list()).questions, [])

  const flow = await line.log.flow(record.flow ?? '')
  assert.equal(flow?.calls[0]?.call, record.call)
  assert.equal((await line.log.replay(answer.call_id)).equal, true)
  assert.ok(line.log.lastSeq() > 0)
  return record
}

export async function meetRefusals(line: Tieline): Promise<void> {
  const unknown = await line.calls.open({ agent: 'nobody', task: 'x' })
  assert.ok(isRefusal(unknown) && unknown.code === 'agent_unknown' && explain(unknown).includes('nobody'))
  // @ts-expect-error -- a call needs a task
  const wrong = await line.calls.open({ agent: 'parrot' })
  assert.ok(isRefusal(wrong) && wrong.code === 'bad_input')
  await assert.rejects(line.log.explain('call_none'), UnknownId)
  await assert.rejects(tieline({ agents: { a: { tools: ['wether'] } } }), OptionsError)
  await assert.rejects(tieline({ config: '/there/is/no/such/file.toml' }), ConfigError)
  await assert.rejects(tieline({ dataDir: '/dev/null/x' }), StoreFault)
  await assert.rejects(openLog({ dataDir: ':memory:', from: 'no export' }), ImportFault)
}

type Internal = Extract<keyof Tieline, 'store' | 'exchange' | 'desks' | 'hosts' | 'book' | 'runtime'>
/** What is inside stays inside: this does not compile where the type shows it. */
export const isHidden: [Internal] extends [never] ? true : false = true

export const listKeys = (line: Tieline): string[] => Object.keys(line).toSorted()
