import { expect, test } from 'vitest'
import { letter, mailWorld, user, type MailWorld } from '../../../test/kits/mail.ts'
import type { SessionId } from '../../model/id.ts'
import { readFlowEvents } from './flow.ts'

const agents = {
  planner: {
    script: async (turn: { task: string; tool(name: string, input: never): Promise<unknown> }) => {
      if (turn.task.startsWith('call'))
        await turn.tool('sub_agent', { agent_name: 'coder', task: 'a part', timeout_seconds: 60 } as never)
      if (turn.task.startsWith('ask'))
        await turn.tool('call_agent', { agent_id: 'coder', message: 'a part' } as never)
      return 'ok'
    },
  },
  coder: { script: async () => 'done' },
}

async function flowIn(w: MailWorld, session: SessionId, text: string): Promise<string> {
  const sent = await w.ok(w.exchange.send(user, letter(session, text)))
  await w.rested(session)
  return sent.flow ?? ''
}

/** Page by page, as a client reads it. */
async function allOf(
  w: MailWorld,
  flow: string,
  limit: number,
): Promise<{ seqs: number[]; types: string[]; pages: number }> {
  const [seqs, types]: [number[], string[]] = [[], []]
  for (let after: number | null = 0, pages = 1; ; pages += 1) {
    const page: Awaited<ReturnType<typeof readFlowEvents>> = await w.exchange.flowEvents(
      flow,
      after ?? 0,
      limit,
    )
    if (page === null) throw new Error('no such flow')
    expect(page.events.length).toBeLessThanOrEqual(limit)
    seqs.push(...page.events.map(({ seq }) => seq))
    types.push(...page.events.map(({ event }) => event.type))
    if (page.next === null) return { seqs, types, pages }
    after = page.next
  }
}

test('a flow is read whole in pages of any size, with nothing of its neighbours', async () => {
  const w = await mailWorld({ agents })
  const session = await w.open('planner')
  await flowIn(w, session, 'call before')
  const flow = await flowIn(w, session, 'call it')
  await flowIn(w, session, 'call after')
  const whole = await allOf(w, flow, 1000)
  expect([whole.types[0], whole.types.at(-1), whole.pages]).toEqual(['message.sent', 'turn.ended', 1])
  expect(
    whole.types
      .filter(
        (type) =>
          type === 'call.opened' || type === 'call.ended' || type === 'turn.started' || type === 'turn.ended',
      )
      .toSorted(),
  ).toEqual(['call.ended', 'call.opened', 'turn.ended', 'turn.ended', 'turn.started', 'turn.started'])
  for (const limit of [1, 2, 5]) expect((await allOf(w, flow, limit)).seqs).toEqual(whole.seqs)
})

test('one that is long over is found without reading what its sessions did since', async () => {
  const w = await mailWorld({ agents })
  const session = await w.open('planner')
  const flow = await flowIn(w, session, 'ask first')
  const before = await allOf(w, flow, 1000)
  for (let n = 0; n < 200; n += 1) await flowIn(w, session, `more ${n}`)
  let looked = 0
  const { store } = w
  const watched: Parameters<typeof readFlowEvents>[0] = {
    turns: (filter, limit) => store.turns(filter, limit),
    event: (seq) => store.event(seq),
    lastSeq: () => store.lastSeq(),
    async read(...ask) {
      const page = await store.read(...ask)
      looked += page.events.length
      return page
    },
  }
  const after = await readFlowEvents(watched, flow, 0, 1000)
  expect([after?.events.map(({ seq }) => seq), after?.next]).toEqual([before.seqs, null])
  expect(looked).toBeLessThanOrEqual(500)
})

test('a page looks at no more than its share of the log, and says where to go on', async () => {
  const held = {
    script: async (turn: { signal: AbortSignal }) =>
      new Promise<string>((_, reject) =>
        turn.signal.addEventListener('abort', () => reject(turn.signal.reason as Error), { once: true }),
      ),
  }
  const w = await mailWorld({ agents: { held } })
  const session = await w.open('held')
  const { flow } = await w.ok(w.exchange.send(user, letter(session, 'wait')))
  await w.store.transact([`session:${session}`], async (tx) =>
    tx.append(
      ...Array.from({ length: 12_000 }, (_, n) => ({
        type: 'notice.raised' as const,
        session,
        turn: null,
        about: '',
        text: `${n}`,
      })),
    ),
  )
  const first = await w.exchange.flowEvents(flow ?? '', 0, 1000)
  expect([first?.events.map(({ event }) => event.type), typeof first?.next, first?.upTo]).toEqual([
    ['message.sent', 'turn.started'],
    'number',
    w.exchange.lastSeq(),
  ])
  expect(await allOf(w, flow ?? '', 1000)).toMatchObject({
    pages: 3,
    types: ['message.sent', 'turn.started'],
  })
})

test('an unknown flow is none', async () => {
  const w = await mailWorld({ agents })
  expect(await w.exchange.flowEvents('flow_nothing', 0, 10)).toBeNull()
  expect(await w.exchange.flowEvents('', 0, 10)).toBeNull()
})
