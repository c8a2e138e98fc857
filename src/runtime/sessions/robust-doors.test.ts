/** What a reading with fresh eyes found: ids, names and orders that would have let one disturb another. */
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { mailWorld } from '../../../test/kits/mail.ts'
import { world, type World } from '../../../test/kits/world.ts'
import type { SessionId } from '../../model/id.ts'
import { framePeer } from '../../model/frame.ts'
import { isRefusal } from '../../model/refusal.ts'
import type { Who } from '../desk/asker.ts'

const user: Who = { kind: 'user' }
const never = new AbortController().signal
const make = async (
  w: World,
  agent: string,
  id: string | null = null,
  parent: SessionId | null = null,
): Promise<SessionId> => {
  const made = await w.exchange.createSession(user, {
    cwd: tmpdir(),
    agent,
    model: null,
    title: '',
    parent,
    initialMessage: null,
    id,
    trace: null,
  })
  if (isRefusal(made)) throw new Error(made.code)
  return made.sessionId
}

test('an id that a sender chose never names a foreign session, and never looks like one of ours', async () => {
  const w = await mailWorld()
  const a = await w.open('coder')
  const taken = await w.open('coder')
  const sent = (await w.use(a, 'send-message', { message: 'x', session: 'new', id: taken.slice(4) })) as {
    session: string
  }
  expect(sent.session).not.toBe(taken)
  const main = (await w.use(a, 'send-message', { message: 'x', session: 'new', id: 'main-coder' })) as {
    session: string
  }
  expect(main.session).not.toBe('ses_main-coder')
  expect(
    await w.use(a, 'send-message', { message: 'x', session: 'new', id: 'msg_216957399629074602462' }),
  ).toMatchObject({ error: { code: 'bad_input' } })
})

test('of two adoptions that would make a ring one is refused', async () => {
  const w = await world({ agents: { coder: {} } })
  const [a, b] = [await make(w, 'coder'), await make(w, 'coder')]
  const both = await Promise.all([w.exchange.adopt(a, b), w.exchange.adopt(b, a)])
  expect(both.filter((answer) => isRefusal(answer))).toMatchObject([{ code: 'bad_input', field: 'parent' }])
})

test('a client that was deleted can do nothing more', async () => {
  const w = await world({ agents: { coder: {} } })
  const client = await w.exchange.clientSession('gone', '/tmp')
  await w.exchange.archive(client)
  expect(
    await w.exchange.useTool(
      { kind: 'session', session: client },
      'sub_agent',
      { agent_name: 'coder', task: 'x' },
      { signal: never, id: null, trace: null },
    ),
  ).toMatchObject({ code: 'session_unknown' })
})

test('an agent’s main session that was deleted is only put away: the next call brings it back', async () => {
  const w = await world({
    agents: {
      planner: {
        script: async (turn) =>
          JSON.stringify((await turn.tool('call_agent', { agent_id: 'coder', message: turn.task })).value),
      },
      coder: { script: (turn) => `did ${turn.task}` },
    },
  })
  await w.run('planner', 'first')
  await w.exchange.archive('ses_main-coder')
  expect((await w.run('planner', 'second')).output).toContain('did second')
  expect(await w.exchange.sessionView('ses_main-coder')).toMatchObject({ archived: false })
})

test('a call in the background that is asked for again is answered as the first was, at once', async () => {
  const w = await world({
    agents: {
      coder: {
        script: async (turn) => {
          await w.clock.sleep(60_000, turn.signal)
          return 'late'
        },
      },
    },
  })
  const who: Who = { kind: 'session', session: await w.exchange.clientSession('c', '/tmp') }
  const ask = () =>
    w.exchange.useTool(
      who,
      'sub_agent',
      { agent_name: 'coder', task: 'x', background: true },
      { signal: never, id: 'k', trace: null },
    )
  const first = await w.until(ask())
  const before = w.clock.now()
  expect(await w.until(ask())).toEqual(first)
  expect(w.clock.now() - before).toBeLessThan(1000)
})

test('what agents wrote to each other is part of the flow', async () => {
  const w = await world({
    agents: {
      a: {
        script: async (turn) =>
          JSON.stringify((await turn.tool('send_agent_message', { sessionId: b, message: 'hello' })).value),
      },
      b: {},
    },
  })
  const b: SessionId = await make(w, 'b')
  await w.run('a', 'go')
  await w.rest()
  const flow = (await w.events('message.sent'))[0]?.event.flow ?? ''
  expect(await w.exchange.flow(flow)).toMatchObject({
    root: { agent: 'a', outcome: 'completed' },
    messages: [{ session: b, agent: 'b', text: 'hello', outcome: 'completed' }],
  })
})

test('a text that is made to be slow to frame is not', () => {
  const text = '<'.concat(' '.repeat(100_000)).repeat(1)
  const begun = performance.now()
  framePeer('482', { from: 'a' }, text)
  expect(performance.now() - begun).toBeLessThan(1000)
})

test('an agent whose record cannot be read keeps nobody else from starting', async () => {
  const w = await world({ agents: { coder: {} } })
  await w.store.transact(['session:ses_main-x'], async (tx) =>
    tx.append({
      type: 'agent.created',
      session: 'ses_main-x',
      turn: null,
      agent: 'x'.repeat(80),
      definition: { title: 't', description: '', prompt: '', model: null, tools: [], driver: null },
    }),
  )
  await w.rest()
  expect((await w.exchange.agents()).map(({ id }) => id)).toEqual(['coder'])
  expect((await w.run('coder', 'still here')).outcome).toBe('completed')
})
