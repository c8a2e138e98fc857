import { expect, test } from 'vitest'
import { letter, mailWorld, user, type MailWorld } from '../../test/kits/mail.ts'
import { created, sent } from '../../test/kits/store.ts'
import { sqliteStore } from '../store/sqlite.ts'
import { RunningSums } from './sums.ts'
import { totalsView, type Totals, type TotalsView } from './totals.ts'

const agents = {
  planner: {
    script: async (turn: {
      task: string
      think(text: string): Promise<string>
      tool(name: string, input: never): Promise<unknown>
    }) => {
      if (turn.task === 'call')
        await turn.tool('sub_agent', { agent_name: 'coder', task: 'a part', timeout_seconds: 60 } as never)
      if (turn.task === 'nobody')
        await turn.tool('sub_agent', { agent_name: 'made up by a model', task: 'a part' } as never)
      return turn.think('ok')
    },
  },
  coder: {
    script: async (turn: { task: string; think(text: string): Promise<string> }) =>
      turn.think(`done ${turn.task}`),
  },
}

async function opened(): Promise<{
  w: MailWorld
  view: TotalsView
  run: (text: string) => Promise<void>
  read: (since?: number | null) => Promise<Totals>
}> {
  const w = await mailWorld({ agents })
  const session = await w.open('planner')
  const view = totalsView({
    clock: w.clock,
    store: w.store,
    log: w.desks.as({}).log,
    report: (fault) => {
      throw fault
    },
  })
  return {
    w,
    view,
    async run(text) {
      await w.ok(w.exchange.send(user, letter(session, text)))
      await w.rested(session)
    },
    async read(since = null) {
      view.read(since)
      for (let tries = 0; tries < 10_000 && !view.read(since).complete; tries += 1)
        await w.until(w.clock.sleep(5))
      return view.read(since)
    },
  }
}

test('the whole log is counted: requests, turns, calls, outcomes, tokens, context, latencies', async () => {
  const { run, read } = await opened()
  await run('hello')
  await run('call')
  await run('nobody')
  const totals = await read()
  expect(totals).toMatchObject({
    complete: true,
    requests: 3,
    turns: 4,
    calls: 1,
    refused: 1,
    context: { calls: 1 },
  })
  expect(totals.upTo).toBe(totals.end)
  expect(totals.context.history).toBeGreaterThan(0)
  expect(totals.context.passed).toBeGreaterThan(0)
  expect(
    totals.agents.map(({ name, outcomes, latency }) => [name, outcomes, latency?.count ?? 0]).toSorted(),
  ).toEqual([
    ['coder', { completed: 1 }, 1],
    ['planner', {}, 0],
    ['unknown', { refused: 1 }, 0],
  ])
  expect(totals.tokens.input + totals.tokens.output).toBe(
    totals.agents.reduce((sum, { tokens }) => sum + tokens.input + tokens.output, 0),
  )
  expect(totals.tokens.input + totals.tokens.output).toBe(
    totals.models.reduce((sum, { input, output }) => sum + input + output, 0),
  )
  expect(totals.tokens.output).toBeGreaterThan(0)
  expect(totals.columns.reduce((sum, { calls, refused }) => sum + calls + refused, 0)).toBe(2)
})

test('nothing is read before the first request; each event is counted once, later ones as they come', async () => {
  const { w, view, run, read } = await opened()
  await run('call')
  expect(view.read(null)).toMatchObject({ complete: false, upTo: 0, requests: 0 })
  await w.until(view.begun())
  expect(view.read(null)).toMatchObject({ complete: true, requests: 1 })
  expect(await read()).toMatchObject({ requests: 1, calls: 1 })
  await run('call')
  expect(view.read(null)).toMatchObject({ complete: true, requests: 2, calls: 2, upTo: w.store.lastSeq() })
  await view.close()
  await run('call')
  expect(view.read(null)).toMatchObject({ requests: 2 })
})

test('a long log is counted in slices: a request meanwhile says how far it is', async () => {
  const { w, view, read, run } = await opened()
  await w.store.transact(['session:ses_x'], async (tx) =>
    tx.append(
      ...Array.from({ length: 5000 }, () => ({
        type: 'notice.raised' as const,
        session: 'ses_x' as const,
        turn: null,
        about: '',
        text: 'x',
      })),
    ),
  )
  await run('call')
  const seen = new Set<number>()
  view.read(null)
  for (let tries = 0; tries < 10_000 && !view.read(null).complete; tries += 1) {
    seen.add(view.read(null).upTo)
    await w.until(w.clock.sleep(1))
  }
  expect(seen.size).toBeGreaterThan(10)
  expect(await read()).toMatchObject({ complete: true, requests: 1, calls: 1 })
})

test('a shorter time is counted by the minute, and nothing of it is kept for more than a day', async () => {
  const hour = 3_600_000
  const start = 1_800_000_000_000
  let time = start
  const store = sqliteStore({ directory: ':memory:', now: () => time })
  const view = totalsView({
    clock: { now: () => time, elapsed: () => time, sleep: async () => undefined },
    store,
    log: { follow: () => () => undefined },
    report: (fault) => {
      throw fault
    },
  })
  for (const [n, at] of [0, 25 * hour, 26 * hour, 28 * hour, 28 * hour + 1000].entries()) {
    time = start + at
    await store.transact([`session:ses_${n}`], async (tx) =>
      tx.append(created(`ses_${n}`), sent(`ses_${n}`, `turn_${n}`, { flow: `flow_${n}` })),
    )
  }
  for (view.read(null); !view.read(null).complete;) await new Promise(setImmediate)
  expect(
    [null, time - hour, time - 2.5 * hour, time - 4 * hour, 0].map((since) => view.read(since).requests),
  ).toEqual([5, 2, 3, 4, 4])
  expect(view.read(time - hour)).toMatchObject({
    from: Math.floor((start + 28 * hour) / 60_000) * 60_000,
    turns: 2,
  })
  for (const since of [time - 0.25 * hour, time - 24 * hour])
    expect(view.read(since).columns.length).toBeLessThanOrEqual(48)
  const { columns, from } = view.read(null)
  expect([
    columns.length <= 96,
    from,
    (columns.at(-1)?.from ?? 0) + (columns.at(-1)?.widthMs ?? 0) > time,
  ]).toEqual([true, start, true])
  await store.close()
})

const place = { agent: 'a', model: 'm', project: '/p', day: '2026-11-17' }

test('sums of pieces are the sums of all; quantiles are within a quarter, and never above the longest', () => {
  const [one, two, all] = [new RunningSums(), new RunningSums(), new RunningSums()]
  const times = Array.from({ length: 1000 }, (_, n) => n + 1)
  for (const [index, ms] of times.entries())
    for (const sums of [index % 2 === 0 ? one : two, all]) {
      sums.addTime('a', ms)
      sums.addOutcome('a', index % 10 === 0 ? 'failed' : 'completed')
      sums.addTokens(place, { input: 1, output: 2, estimated: index === 7 })
      sums.addContext(1, 2)
      sums.calls += 1
    }
  one.add(two)
  expect(one.read()).toEqual(all.read())
  const latency = all.read().agents[0]?.latency
  expect(latency).toMatchObject({ count: 1000, maxMs: 1000, sumMs: 500_500 })
  expect(Math.abs((latency?.medianMs ?? 0) / 500 - 1)).toBeLessThan(0.26)
  expect(Math.abs((latency?.p95Ms ?? 0) / 950 - 1)).toBeLessThan(0.26)
  expect(latency?.histogram.reduce((sum, { count }) => sum + count, 0)).toBe(1000)
})

test('a sum with one estimated part is estimated, and the slowest of two pieces is the slowest of both', () => {
  const piece = (ms: number, estimated: boolean): RunningSums => {
    const sums = new RunningSums()
    sums.addTokens(place, { input: 1, output: 2, estimated })
    sums.addTime('a', ms)
    return sums
  }
  const sums = piece(900, true)
  sums.add(piece(10, false))
  const { tokens, agents, models } = sums.read()
  expect(tokens).toMatchObject({ input: 2, output: 4, estimated: true })
  expect(agents).toMatchObject([
    { tokens: { input: 2, output: 4, estimated: true }, latency: { maxMs: 900 } },
  ])
  expect(models).toMatchObject([{ name: 'm', input: 2, output: 4, estimated: true }])
  expect(piece(1, false).read().tokens.estimated).toBe(false)
})

test('whoever used most comes first, whatever the order in which they were counted; the last day comes first', () => {
  const sums = new RunningSums()
  for (const [name, input, day] of [
    ['little', 1, '2026-11-16'],
    ['most', 9, '2026-11-18'],
    ['some', 5, '2026-11-17'],
  ] as const)
    sums.addTokens({ agent: name, model: name, project: name, day }, { input, output: 0, estimated: false })
  const { agents, models, projects, days } = sums.read()
  for (const list of [agents, models, projects])
    expect(list.map(({ name }) => name)).toEqual(['most', 'some', 'little'])
  expect(days.map(({ name }) => name)).toEqual(['2026-11-18', '2026-11-17', '2026-11-16'])
})
