/** What the page makes of events, without a browser: the ledger, turns, flows, threads and graphs. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { StreamedEvent } from '../../src/wire/log.ts'
import { openLine, type OpenLine } from '../../src/open-line.ts'
import { exchangeOf } from '../kits/askers.ts'
import { foldEvent } from '../../web/src/live/fold-event.ts'
import {
  createLedger,
  takeSession,
  sumTokens,
  type Ledger,
  type MailFact,
} from '../../web/src/live/ledger.ts'
import { getActivity } from '../../web/src/live/describe-facts.ts'
import { applyDelta } from '../../web/src/live/said.ts'
import { createDetails } from '../../web/src/live/turn-details.ts'
import { createFlowFilter } from '../../web/src/flow/flow-filter.ts'
import { orderBars } from '../../web/src/flow/flow-picture.ts'
import { foldFlow } from '../../web/src/flow/fold-flow.ts'
import { layoutLayers } from '../../web/src/flow/layout-layers.ts'
import { collectThread } from '../../web/src/inbox/thread.ts'
import { buildRows } from '../../web/src/sessions/session-tree.ts'
import type { ScriptedTurn } from '../../src/adapters/scripted/run-function.ts'

let line: OpenLine
const events: StreamedEvent[] = []
const cwd = mkdtempSync(join(tmpdir(), 'tieline-folds-'))

/** A real run: calls that complete, fail and are refused, a spawned session, mail. */
beforeAll(async () => {
  const agent = (script: (turn: ScriptedTurn) => Promise<string> | string) => ({
    tools: ['*'],
    allowSubAgentCalls: true,
    script,
  })
  line = await openLine({
    cwd,
    agents: {
      planner: agent(async (turn) => {
        await turn.tool('write', { path: 'a.txt', content: 'x' })
        await turn.tool('sub_agent', { agent_name: 'coder', task: 'Write it.' })
        await turn.tool('sub_agent', { agent_name: 'failer', task: 'Break it.' })
        await turn.tool('sub_agent', { agent_name: 'nobody', task: 'Who?' })
        await turn.tool('create_agent_session', { cwd, agent: 'coder', initialMessage: 'On your own.' })
        return turn.think('Done.')
      }),
      coder: agent((turn) => turn.think('Written.')),
      failer: agent(() => {
        throw new Error('it broke')
      }),
    },
  })
  const end = exchangeOf(line.desks).subscribe(
    0,
    { sessions: null },
    {
      events: (stored) =>
        void events.push(
          ...stored.map(({ seq, at, event }) => ({ seq: String(seq), at, sessionId: event.session, event })),
        ),
      delta: () => undefined,
    },
  )
  await line.run('planner', 'Build it.')
  await line.idle()
  while (events.length < exchangeOf(line.desks).lastSeq())
    await new Promise((resolve) => setImmediate(resolve))
  end()
})
afterAll(() => line.close())

const folded = (list: readonly StreamedEvent[], newFrom = 0): Ledger => {
  const ledger = createLedger()
  for (const [index, streamed] of list.entries())
    foldEvent(ledger, streamed, index >= newFrom, () => undefined)
  return ledger
}

describe('records', () => {
  test('say what the server says about sessions, whenever the page began to listen', async () => {
    const { sessions } = await exchangeOf(line.desks).sessions({
      dir: null,
      active: null,
      agent: null,
      parent: null,
      archived: false,
      cursor: null,
      limit: 50,
    })
    for (let newFrom = 0; newFrom <= events.length; newFrom += 1) {
      const ledger = createLedger()
      for (const session of sessions) takeSession(ledger, session)
      for (const [index, streamed] of events.entries())
        foldEvent(ledger, streamed, index >= newFrom, () => undefined)
      for (const { id, agent, parent, status } of sessions)
        expect({
          id,
          activity: getActivity(ledger, ledger.sessions.get(id) as never),
          agent: ledger.sessions.get(id)?.agent,
          parent: ledger.sessions.get(id)?.parent,
        }).toEqual({ id, activity: status, agent, parent })
    }
  })

  test('may begin in the middle of the log', () => {
    for (let from = 0; from < events.length; from += 1) expect(() => folded(events.slice(from))).not.toThrow()
  })

  test('have the tokens, calls and outcomes of the log', async () => {
    const ledger = folded(events)
    const listed = await exchangeOf(line.desks).calls({ session: null, limit: 50 })
    expect(
      [...ledger.calls.values()]
        .map(({ id, outcome }) => ({ id, outcome }))
        .toSorted((a, b) => a.id.localeCompare(b.id)),
    ).toEqual(
      listed.map(({ call, outcome }) => ({ id: call, outcome })).toSorted((a, b) => a.id.localeCompare(b.id)),
    )
    const [flow] = ledger.flows.values()
    const view = await exchangeOf(line.desks).flow(flow?.id ?? '')
    // What agents wrote to each other is part of the request too.
    const tokens = [...ledger.turns.values()].reduce((sum, turn) => sum + sumTokens(turn), 0)
    expect(tokens).toBe(view?.tokensUsed)
  })
})

describe('records for the views', () => {
  test('show children under their parent, and hide calls that have ended', () => {
    const rows = buildRows(
      folded(events),
      { text: '', status: 'all', sort: 'created', project: '', agent: '', calls: false, archived: false },
      new Set(),
    )
    expect(rows.map(({ session, level }) => `${level} ${session.agent}`)).toEqual(['1 planner', '2 coder'])
    const all = buildRows(
      folded(events),
      { text: 'fail', status: 'all', sort: 'created', project: '', agent: '', calls: true, archived: false },
      new Set(),
    )
    expect(all.map(({ session, fits }) => `${session.agent} ${String(fits)}`)).toEqual([
      'planner false',
      'failer true',
    ])
  })

  test('keep what happened inside a turn, with its answer', () => {
    const details = createDetails()
    for (const streamed of events) details.take(streamed)
    const [flow] = folded(events).flows.values()
    const detail = details.get(flow?.turn ?? '')
    expect(
      detail?.items.map((item) =>
        item.kind === 'tool'
          ? item.name
          : item.kind === 'call'
            ? `${item.agent} ${item.outcome ?? ''}`
            : item.kind,
      ),
    ).toEqual(['write', 'coder completed', 'failer failed', 'refused', 'create_agent_session', 'said'])
    expect(detail).toMatchObject({ asked: 'Build it.', output: 'Done.', ended: true })
  })
})

describe('a flow', () => {
  const own = (): StreamedEvent[] => {
    const [flow] = folded(events).flows.values()
    return events.filter(createFlowFilter(flow?.id ?? ''))
  }

  test('is the same at its end as the server says, and grows event by event', () => {
    const list = own()
    let before = 0
    for (let count = 0; count <= list.length; count += 1) {
      const picture = foldFlow(list, count)
      expect(picture.bars.size).toBeGreaterThanOrEqual(before)
      before = picture.bars.size
    }
    const whole = foldFlow(list)
    expect(orderBars(whole).map(({ bar, level }) => `${level} ${bar.agent} ${bar.outcome ?? ''}`)).toEqual([
      '0 planner completed',
      '1 coder completed',
      '1 failer failed',
      '1 nobody refused',
      '1 coder completed',
    ])
    expect(whole.open).toBe(0)
  })

  test('in the middle shows who waits for whom', () => {
    const list = own()
    const opened = list.findIndex(({ event }) => event.type === 'call.opened')
    const picture = foldFlow(list, opened + 1)
    expect(
      picture.root?.segments.filter(({ kind, to }) => kind === 'call' && to === null).map(({ name }) => name),
    ).toEqual(['coder'])
    expect(picture.root?.outcome).toBe(null)
  })
})

describe('text that streams', () => {
  const delta = (step: number, offset: number, text: string, epoch = 1) => ({
    session: 'ses_1' as const,
    turn: 'turn_1' as const,
    epoch,
    step,
    offset,
    text,
  })
  test('goes on, begins anew with a step or an epoch, and says where a piece is missing', () => {
    const one = applyDelta(undefined, delta(1, 0, 'Hello'))
    expect(applyDelta(one, delta(1, 5, ' there')).text).toBe('Hello there')
    expect(applyDelta(one, delta(2, 0, 'Next'))).toMatchObject({ text: 'Next', gap: false })
    expect(applyDelta(one, delta(1, 0, 'Again', 2)).text).toBe('Again')
    expect(applyDelta(one, delta(1, 2, 'y')).text).toBe('Hey')
    expect(applyDelta(one, delta(1, 9, 'late')).gap).toBe(true)
    expect(applyDelta(applyDelta(one, delta(1, 9, 'late')), delta(1, 0, 'Hello, too late'))).toMatchObject({
      text: 'Hello, too late',
      gap: false,
    })
    expect(applyDelta(undefined, delta(1, 4, 'o')).gap).toBe(true)
  })
})

test('a thread is what a message answers and what answers it, oldest first, also where it runs in a ring', () => {
  const letter = (id: string, inReplyTo: string | null, createdAt: number): [string, MailFact] => [
    id,
    {
      id,
      status: 'delivered',
      owner: '',
      from: null,
      to: null,
      target: 'session',
      inReplyTo,
      source: 'user',
      applet: null,
      initial: '',
      text: id,
      createdAt,
      updatedAt: createdAt,
      by: null,
      cause: '',
      revisions: 0,
      version: '',
      isReleased: false,
      seq: createdAt,
    },
  ]
  const mail = new Map([
    letter('a', null, 1),
    letter('b', 'a', 2),
    letter('c', 'b', 4),
    letter('d', 'a', 3),
    letter('other', null, 2),
  ])
  for (const id of ['a', 'b', 'c', 'd'])
    expect(collectThread({ mail }, mail.get(id) as MailFact).map((one) => one.id)).toEqual([
      'a',
      'b',
      'd',
      'c',
    ])
  expect(collectThread({ mail }, mail.get('other') as MailFact).map((one) => one.id)).toEqual(['other'])
  const ring = new Map([letter('x', 'y', 1), letter('y', 'x', 2)])
  expect(collectThread({ mail: ring }, ring.get('y') as MailFact).map((one) => one.id)).toEqual(['x', 'y'])
})

test('boxes of a ring are placed, each once, and arrows go to the right where they can', () => {
  const { at, width, height } = layoutLayers(
    ['a', 'b', 'c'],
    [
      { from: 'a', to: 'b' },
      { from: 'b', to: 'c' },
      { from: 'c', to: 'a' },
      { from: 'a', to: 'a' },
    ],
    { width: 10, height: 10, gapX: 5, gapY: 5 },
  )
  expect([...at.values()].map(({ layer }) => layer)).toEqual([0, 1, 2])
  expect(Math.min(width, height)).toBeGreaterThan(0)
  const fan = layoutLayers(
    ['root', 'deep', 'near'],
    [
      { from: 'root', to: 'near' },
      { from: 'root', to: 'deep' },
      { from: 'near', to: 'deep' },
    ],
    { width: 10, height: 10, gapX: 5, gapY: 5 },
  )
  expect([...fan.at].map(([name, { layer }]) => `${name} ${layer}`)).toEqual(['root 0', 'deep 2', 'near 1'])
})
