import { expect, test } from 'vitest'
import { explained, handOn, never } from '../../../test/kits/explain.ts'
import { flowOf } from '../../../test/kits/replay.ts'
import { world } from '../../../test/kits/world.ts'
import { answerQuestion } from '../turns/question.ts'
import type { Tool } from '../kernel/ports.ts'

test('explain does not know permission waits: it names the question, the tool, and until when', async () => {
  const shell: Tool = {
    name: 'shell',
    effect: 'write',
    calling: false,
    describe: () => ({ name: 'shell', description: '', input: {} }),
    run: async () => ({ ok: true, value: 'done' }),
  }
  const w = await world({
    asks: true,
    agents: {
      a: { script: handOn('b', 'part', { timeout_seconds: 100 }) },
      b: { ask: ['shell'], script: async (turn) => String((await turn.tool('shell', {})).ok) },
    },
    tools: [shell],
  })
  void w.ask('a', 'go')
  await w.rest()
  await w.pass(4000)
  const found = await explained(w, await flowOf(w))
  expect(found.waits).toMatchObject([
    { agent: 'a', by: 'call', forAgent: 'b' },
    { agent: 'b', by: 'person', tool: 'shell', question: expect.stringMatching(/^question_/) },
  ])
  expect(found.busy).toEqual([])
  expect(found.roots).toMatchObject([{ agent: 'a', state: 'waits', on: 'person' }])
  expect(found.sentences).toEqual([
    'a waits for b (call_…, deadline in 96 s), which has waited 4.0 s for a person to allow or deny shell ' +
      '(question_…, deadline in 94 s; without an answer it is denied).',
  ])
  const [question] = await w.events('question.asked')
  await answerQuestion(w.node.runtime, question?.event.question ?? '', { answer: 'deny' }, 'user')
  await w.pass(100)
  expect((await explained(w, await flowOf(w))).roots).toMatchObject([{ state: 'ended' }])
})

test('a program that is away is named as what a queued turn waits for', async () => {
  const w = await world({ agents: { hosted: { script: never } }, isThere: () => false })
  void w.ask('hosted', 'go')
  await w.rest()
  await w.pass(30_000)
  const found = await explained(w, await flowOf(w), () => false)
  expect(found.roots).toMatchObject([{ state: 'waits', on: 'program' }])
  expect(found.sentences).toEqual([
    'hosted has waited 30 s for the program that runs ses_…: it is not connected, and this goes on when it is.',
  ])
})

test('what is queued says behind what, and how many are before it', async () => {
  const w = await world({ agents: { a: { script: never } } })
  void w.ask('a', 'first')
  await w.rest()
  const session = (await w.events('session.created'))[0]?.event.session ?? 'ses_'
  for (const text of ['second', 'third']) void w.ask('a', text, { session })
  await w.rest()
  const last = (await w.events('message.sent')).at(-1)?.event.flow ?? ''
  expect((await explained(w, last)).sentences).toEqual([
    'a is queued as number 2 behind a (turn_…) in ses_…, which has begun and recorded nothing yet: it waits ' +
      'for its model or driver (for 0.0 s, deadline in 60 min).',
  ])
})

test('a turn with a budget says what is used of it, and what ended by its budget says the numbers', async () => {
  const w = await world({ agents: { a: { script: never, limits: { maxTokens: 500 } } } })
  void w.ask('a', 'go')
  await w.rest()
  expect((await explained(w, await flowOf(w))).busy).toMatchObject([{ tokens: { used: 0, max: 500 } }])
})

test('without a server it says that nothing goes on until one runs', async () => {
  const w = await world({ agents: { a: { script: never } } })
  void w.ask('a', 'go')
  await w.rest()
  const found = await explained(w, await flowOf(w), null)
  expect(found.roots).toMatchObject([{ on: 'server' }])
  expect(found.sentences).toEqual([
    'a stands still: no server runs on this log, and it goes on when one does.',
  ])
})

test('a call that was refused is explained itself, not another one', async () => {
  const w = await world({
    agents: {
      a: {
        script: async (turn) => {
          await turn.tool('sub_agent', { agent_name: 'b', task: 'fine' })
          return String((await turn.tool('sub_agent', { agent_name: 'bb', task: 'x' })).ok)
        },
      },
      b: {},
    },
  })
  await w.run('a', 'go')
  const [refused] = await w.events('call.refused')
  const found = await explained(w, refused?.event.call ?? '')
  expect(found).toMatchObject({ kind: 'call', over: true, ended: [], refused: [{ agent: 'bb' }] })
  expect(found.sentences).toEqual([
    expect.stringMatching(/^call_… was refused, so nothing ran: a asked for bb. There is no agent "bb"/),
  ])
})

test('mail that nobody took is why nothing happens', async () => {
  const w = await world({
    agents: {
      a: {
        script: async (turn) =>
          String((await turn.tool('send-message', { session: turn.task, message: 'hello' })).ok),
      },
      b: {},
    },
  })
  const other = await w.run('b', 'wait here')
  const to = other.session ?? ''
  await w.run('a', to)
  const found = await explained(w, 'last')
  expect(found.mail).toMatchObject([{ to, status: 'buffered' }])
  expect(found.sentences).toEqual([
    expect.stringMatching(
      /^a is done, .* msg_… waits in the inbox of b \(ses_…\) until somebody accepts it\.$/,
    ),
  ])
  expect((await explained(w, to)).mail.length).toBe(1)
})

test('a part of an id is enough, several are named, and last is the newest flow', async () => {
  const w = await world({ agents: { a: {} } })
  await w.run('a', 'one')
  await w.run('a', 'two')
  const sent = await w.events('message.sent')
  const [first, second] = sent.map(({ event }) => event.flow)
  expect((await explained(w, 'last')).id).toBe(second)
  expect((await explained(w, (first ?? '').slice(2))).id).toBe(first)
  await expect(explained(w, 'flow_')).rejects.toThrow(`"flow_" is a part of several ids: ${second}, ${first}`)
  await expect(explained(w, 'flow_nope')).rejects.toThrow(
    `there is no flow "flow_nope" in this log. The newest are`,
  )
  await expect(explained(w, 'zzz')).rejects.toThrow('no flow, call or session has "zzz" in its id')
})

test('what a client asked for was explained as "external", and by the names of tools', async () => {
  const w = await world({ agents: { a: { script: never } } })
  const { calls } = w.desks.as({ client: { name: 'claude-code', cwd: process.cwd() } })
  void calls.open({ agent: 'a', task: 'go' })
  await calls.open({ agent: 'bb', task: 'go' })
  await w.pass(1000)
  const [[opened], [refused]] = [await w.events('call.opened'), await w.events('call.refused')]
  const { text } = await explained(w, opened?.event.flow ?? '')
  expect(text).toMatch(/^claude-code waits for a \(call_…/)
  const { text: why } = await explained(w, refused?.event.call ?? '')
  expect(why).toMatch(/^call_… was refused, so nothing ran: claude-code asked for bb\./)
  for (const said of [text, why]) expect(said).not.toMatch(/external|sub_agent/)
})
