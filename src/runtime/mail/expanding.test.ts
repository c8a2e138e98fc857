/** What writes a message out: how much it may use, until when, how often, and what it is told. */
import { expect, test } from 'vitest'
import { mailWorld } from '../../../test/kits/mail.ts'
import type { Event } from '../../model/event.ts'
import type { Running } from '../kernel/running.ts'
import type { Runtime } from '../turns/runtime.ts'
import { elaborate } from './elaborate.ts'
import type { Writer } from './mail.ts'
import { describeTurnSoFar } from './turn-so-far.ts'

/** A turn of an agent with a model that holds still, so that something is written in it. */
async function holding(options: { maxTokens?: number; timeoutMs?: number } = {}) {
  const w = await mailWorld({
    agents: {
      writer: {
        model: 'scripted/writer',
        script: async (turn) =>
          turn.task === 'hold' ? (await w.clock.sleep(1e6, turn.signal), 'ok') : 'written out',
      },
    },
  })
  void w.ask('writer', 'hold', options)
  await w.rest()
  const [running] = w.node.runtime.running.values()
  if (running === undefined) throw new Error('nothing runs')
  const writer: Writer = {
    sender: { kind: 'turn', running },
    session: running.session,
    act: 'act1',
    trace: null,
    cwd: '/',
  }
  const expand = () =>
    w.until(elaborate(w.node.runtime, writer, 'suffix', { text: 'short', instructions: null }))
  const inputs = async () => (await w.events('message.sent')).filter(({ event }) => event.applet !== null)
  return { w, running, expand, inputs }
}

test("R7: it has half of what its sender has left, no tools, one answer, and its sender's time", async () => {
  const { w, running, expand, inputs } = await holding({ maxTokens: 1001, timeoutMs: 30_000 })
  running.tokensUsed = 100
  expect(await expand()).toEqual({ text: 'written out', note: null })
  const [sent] = await inputs()
  expect(sent?.event.grant).toMatchObject({
    tokensMax: 451,
    maxIterations: 1,
    authority: { tools: [], nested: false },
  })
  const [own, theirs] = await w.events('turn.started')
  expect(theirs?.event.turn).toBe(sent?.event.turn)
  expect(theirs?.event.deadline).toBe(own?.event.deadline)
})

test('M5: the same act again finds what it has begun', async () => {
  const { expand, inputs } = await holding()
  expect([await expand(), await expand()]).toEqual([
    { text: 'written out', note: null },
    { text: 'written out', note: null },
  ])
  expect(await inputs()).toHaveLength(1)
})

test('it is told what this turn was asked and has done, the newest, also what is not recorded yet', async () => {
  const step = (turn: string, output: string) =>
    ({ type: 'step.ended', turn, kind: 'tool', name: 'look', input: {}, output }) as unknown as Event
  const recorded = [
    step('turn_1', 'old '.repeat(700)),
    step('turn_0', 'of an earlier turn'),
    step('turn_1', 'new'),
  ]
  const runtime = {
    store: {
      read: async () => ({
        events: recorded.map((event, index) => ({ seq: index + 1, at: 0, event })),
        more: false,
        next: 3,
      }),
    },
    count: (text: string) => text.length,
  } as unknown as Runtime
  const running = {
    row: { id: 'turn_1', session: 'ses_1', openedSeq: 1 },
    input: { text: 'the task' },
    buffer: [step('turn_1', 'newest')],
  } as unknown as Running
  expect((await describeTurnSoFar(runtime, running)).split('\n')).toEqual([
    'Asked: the task',
    '(Earlier steps are left out.)',
    'look {} answered: "new"',
    'look {} answered: "newest"',
  ])
})
