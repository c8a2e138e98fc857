/** Sessions that are adopted, agents that are gone, outputs that are read in pieces, ends of turns. */
import { expect, test } from 'vitest'
import { letter, session, user } from '../../../test/kits/letters.ts'
import { valueOf, world, type World } from '../../../test/kits/world.ts'
import { Agent } from '../../model/agent.ts'
import { cancel } from '../turns/ending.ts'
import type { Driver } from '../kernel/ports.ts'
import { agentBook } from './agent-book.ts'

test('a session is adopted by one that is there, and never by itself or one below it', async () => {
  const w = await world({ agents: { a: {} } })
  const [top, low, gone] = [await session(w, 'a'), await session(w, 'a'), await session(w, 'a')]
  expect(await w.exchange.adopt(low, top)).toMatchObject({ parent: top })
  expect(await w.exchange.adopt(top, low)).toMatchObject({ code: 'bad_input' })
  expect(await w.exchange.adopt(top, top)).toMatchObject({ code: 'bad_input' })
  await w.exchange.archive(gone)
  expect(await w.exchange.adopt(top, gone)).toEqual({ code: 'session_unknown', session: gone })
  expect(await w.exchange.adopt(top, 'ses_nobody')).toEqual({
    code: 'session_unknown',
    session: 'ses_nobody',
  })
})

test('deleted agents stay deleted after a restart', async () => {
  const define = (id: string) => Agent.parse({ name: id })
  const configured = { get: () => undefined, names: () => ['built-in'], driver: () => null as never }
  const book = agentBook(configured, { define, driver: () => null as never, isThere: () => true })
  const row = (agent: string, at: number, deleted: boolean) => ({
    created: { type: 'agent.created', session: 'ses_x', turn: null, agent, definition: {} },
    at,
    deleted,
  })
  await book.load({ agentRows: async () => [row('agent_b', 2, false), row('agent_a', 1, true)] } as never)
  expect(book.names()).toEqual(['built-in', 'agent_b'])
  expect([book.get('agent_a'), book.get('agent_b')?.name]).toEqual([undefined, 'agent_b'])
})

test('an output is read in pieces that cut no character in two', async () => {
  const text = 'ab😀cd'
  const pieces: unknown[] = []
  const w: World = await world({
    agents: {
      boss: {
        script: async (turn) => {
          const call = valueOf(await turn.tool('sub_agent', { agent_name: 'writer', task: 'x' }))['call_id']
          for (let offset: unknown = 0; offset !== null && pieces.length < 9;) {
            const piece: Record<string, unknown> = valueOf(
              await turn.tool('read_output', { call_id: call ?? '', offset: offset as number, limit: 3 }),
            )
            pieces.push(piece['text'])
            offset = piece['next_offset']
          }
          return 'done'
        },
      },
      writer: { script: () => text },
    },
  })
  await w.run('boss', 'go')
  expect(pieces.join('')).toBe(text)
  expect(pieces.length).toBeGreaterThan(1)
  for (const piece of pieces) expect(String(piece).isWellFormed()).toBe(true)
})

test('a turn that is cancelled keeps what it had said, and an answer is kept only as long as it may be', async () => {
  const w: World = await world({
    agents: {
      talker: {
        script: async (turn) => {
          if (turn.task === 'long') return 'x'.repeat(5000)
          turn.say('half of it')
          await w.clock.sleep(1e9, turn.signal)
          return 'never'
        },
      },
    },
    limits: { resultBytesMax: 1024 },
  })
  const id = await session(w, 'talker', 'talk')
  await w.rest()
  const [turn] = [...w.node.runtime.running.keys()]
  expect(await w.until(cancel(w.node.runtime, turn ?? 'turn_none', 'cancelled', 'a person'))).toBe(true)
  await w.pass(3000)
  expect((await w.events('turn.ended')).at(-1)?.event).toMatchObject({
    outcome: 'cancelled',
    output: 'half of it',
  })
  expect(await w.until(cancel(w.node.runtime, turn ?? 'turn_none', 'cancelled', 'again'))).toBe(false)
  await w.exchange.send(user, letter(id, 'long'))
  await w.pass(1000)
  const entry = (await w.events('turn.ended')).at(-1)?.event.entry
  expect(entry?.answered.length).toBeLessThanOrEqual(1024)
  expect(entry?.answered.length).toBeGreaterThan(500)
})

test('after a takeover a turn still knows what its ended calls have used', async () => {
  let open = false
  const spending = (then: () => Promise<void>, call: boolean): Driver => ({
    async run(_turn, steps) {
      await steps.step('model', 'm', {}, async () => ({
        value: { text: 'x' },
        usage: { input: 40, output: 2, estimated: false },
      }))
      if (call) await steps.tool('sub_agent', { agent_name: 'callee', task: 'y' })
      await then()
      return { outcome: 'completed', output: 'done', error: null, iterations: 1 }
    },
  })
  const w = await world({
    agents: {
      boss: { driver: spending(async () => (open ? undefined : new Promise<void>(() => undefined)), true) },
      callee: { driver: spending(async () => undefined, false) },
    },
  })
  const run = w.ask('boss', 'go')
  await w.pass(500)
  const { runtime } = w.node
  runtime.stopping.abort(new Error('killed'))
  runtime.alarm.stop()
  runtime.running.clear()
  open = true
  await w.addNode()
  await w.pass(9000)
  expect((await w.events('turn.ended')).at(-1)?.event).toMatchObject({ tokensUsed: 42, tokensBelow: 42 })
  void run
})
