import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { History } from '../../chaos/history.ts'
import { judgeAcknowledged, judgeEffects, judgeLog, judgeOutcomes, type Line } from '../../chaos/judge.ts'
import type { Row } from '../../chaos/read-log.ts'
import { effectsFile } from '../../chaos/scene.ts'
import type { Event } from '../../src/model/event.ts'
import { openLine } from '../../src/open-line.ts'

/** A log of a line in this process: a call with one below it, and two letters. */
async function recordedRows(): Promise<{ rows: Row[]; output: string }> {
  const line = await openLine({
    agents: {
      clerk: { script: async (turn) => `${await turn.think('It is filed.')} ${turn.task}` },
      relay: {
        tools: ['sub_agent'],
        allowSubAgentCalls: true,
        script: async (turn) => {
          const { value } = await turn.tool('sub_agent', {
            agent_name: 'clerk',
            task: turn.task,
            max_tokens: 50,
          })
          return (value as { output: string }).output
        },
      },
    },
  })
  onTestFinished(() => line.close())
  const { output } = await line.run('relay', 'work', { maxTokens: 10_000 })
  await line.run('clerk', 'letter')
  const rows = line.store.db.prepare('select seq, at, events from log order by seq').all() as unknown as Row[]
  return {
    rows: rows.map((row) => ({ ...row, mark: 'store-1', parsed: JSON.parse(row.events) as Event[] })),
    output,
  }
}

const broken = (lines: readonly Line[]): string[] =>
  lines.flatMap(({ law, problems }) => (problems.length === 0 ? [] : [law.split(' ')[0] ?? '']))
const change = (rows: readonly Row[], edit: (event: Event) => Event[]): Row[] =>
  rows.map((row) => ({ ...row, parsed: row.parsed.flatMap(edit) }))
const eventsOf = (rows: readonly Row[]): Event[] => rows.flatMap(({ parsed }) => parsed)
const told = (status: number, body: Record<string, unknown>) => ({ node: 'n1', status, body, from: 0, at: 1 })

test('a log that keeps the laws is found to keep them, and each law was tried', async () => {
  const { rows } = await recordedRows()
  const lines = judgeLog(rows)
  expect(broken(lines)).toEqual([])
  expect(lines.filter(({ tried }) => tried === 0)).toEqual([])
})

test('R3: a call that ends twice, and one that never ends, are found', async () => {
  const { rows } = await recordedRows()
  expect(broken(judgeLog(change(rows, (one) => (one.type === 'call.ended' ? [one, one] : [one]))))).toContain(
    'R3',
  )
  expect(broken(judgeLog(change(rows, (one) => (one.type === 'call.ended' ? [] : [one]))))).toContain('R4')
})

test('R6: a step that a store other than that of its activation wrote is found', async () => {
  const { rows } = await recordedRows()
  const other = (row: Row): boolean =>
    row.parsed.some(({ type }) => type === 'step.ended') &&
    !row.parsed.some(({ type }) => type === 'turn.started')
  // The other store is known by an activation of its own, after everything else.
  const begun = eventsOf(rows).find((event) => event.type === 'turn.started')
  const known = { ...begun, node: 'node_other' } as Event
  const last = { ...(rows.at(-1) as Row), seq: 1_000_000, mark: 'other-1', parsed: [known] }
  const stolen = rows.map((row) => (other(row) ? { ...row, mark: 'other-2' } : row))
  expect(
    judgeLog([...stolen, last])
      .flatMap(({ problems }) => problems)
      .join(),
  ).toMatch(/R6: step\.ended .* by node_other/)
})

test('R7: a call that reserves more than its caller has is found', async () => {
  const { rows } = await recordedRows()
  const greedy = change(rows, (one) =>
    one.type === 'call.opened' ? [{ ...one, grant: { ...one.grant, tokensMax: 100_000 } }] : [one],
  )
  expect(broken(judgeLog(greedy))).toEqual(['R7'])
})

test('R2: an act that was acknowledged and is not in the log, or twice, is found', async () => {
  const { rows } = await recordedRows()
  const events = eventsOf(rows)
  const letter = events.find((event) => event.type === 'message.sent')
  if (letter?.type !== 'message.sent') throw new Error('there is one')
  const history = new History()
  history.begin('message', letter.message, letter.session, letter.text).told = told(202, {})
  expect(judgeAcknowledged(history, events)).toMatchObject({ tried: 1, problems: [] })
  expect(judgeAcknowledged(history, [...events, letter]).problems).toHaveLength(1)
  expect(
    judgeAcknowledged(
      history,
      events.filter((event) => event !== letter),
    ).problems,
  ).toHaveLength(1)
})

test('R3: an answer that is not what the log has is found', async () => {
  const { rows } = await recordedRows()
  const end = eventsOf(rows).find((event) => event.type === 'call.ended')
  if (end?.type !== 'call.ended') throw new Error('there is one')
  const { call, outcome, output } = end
  const say = (body: Record<string, unknown>): string[] => {
    const history = new History()
    history.begin('call', 'work', 'clerk', 'work').told = told(200, body)
    return [...judgeOutcomes(history, eventsOf(rows)).problems]
  }
  expect(say({ call_id: call, outcome, output })).toEqual([])
  expect(say({ call_id: call, outcome: 'failed', output })).toHaveLength(1)
  expect(say({ call_id: call, outcome, output: 'something else' })).toHaveLength(1)
  expect(say({ call_id: '', outcome: 'failed', output: '' })).toHaveLength(1)
})

test('R10: followers that hear something else, or in another order, are found', () => {
  const history = new History()
  history.hear('n1', '1', null, 'session.created ses_a')
  history.hear('n2', '1', null, 'session.created ses_a')
  expect(history.seenOtherwise).toEqual([])
  history.hear('n2', '1', '2', 'session.created ses_b')
  expect(history.seenOtherwise).toHaveLength(2)
})

test('R10: a tool that was run twice in one turn is found', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-effects-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const line = (turn: string): string => `${JSON.stringify({ key: 'letter first', turn, node: 'n1' })}\n`
  writeFileSync(join(directory, effectsFile), line('turn_a') + line('turn_b'))
  expect(judgeEffects(directory)).toMatchObject({ tried: 2, problems: [] })
  writeFileSync(join(directory, effectsFile), line('turn_a') + line('turn_a'))
  expect(judgeEffects(directory).problems).toHaveLength(1)
})

/** Two inputs for one session: the second waits while the first runs, and begins with its end. */
async function queuedRows(): Promise<Row[]> {
  const gate = Promise.withResolvers<string>()
  const line = await openLine({ agents: { clerk: { script: () => gate.promise } } })
  onTestFinished(() => line.close())
  const { sessionId } = (await line.sessions.create({ agent: 'clerk', cwd: tmpdir() })) as {
    sessionId: string
  }
  for (const message of ['one', 'two']) await line.sessions.send(sessionId, { message })
  gate.resolve('done')
  await line.idle()
  const rows = line.store.db.prepare('select seq, at, events from log order by seq').all() as unknown as Row[]
  // It goes on for longer than a node that stops.
  const late = { ...(rows.at(-1) as Row), seq: 1_000_000, at: (rows.at(-1)?.at ?? 0) + 60_000, events: '[]' }
  return [...rows, late].map((row) => ({
    ...row,
    mark: 'store-1',
    parsed: JSON.parse(row.events) as Event[],
  }))
}

test('R12: an input whose time ran out within its transaction is no fault; one with time left is', async () => {
  const rows = await queuedRows()
  expect(broken(judgeLog(rows))).toEqual([])
  const starts = eventsOf(rows).filter((event) => event.type === 'turn.started')
  const [first, second] = starts
  const rests = rows.find(({ parsed }) =>
    parsed.some((one) => one.type === 'turn.ended' && one.turn === first?.turn),
  )
  const judged = (msLeft: number, outcome: 'timed_out' | 'cancelled'): string[] =>
    broken(
      judgeLog(
        change(rows, (one) =>
          one === second
            ? []
            : one.type === 'message.sent' && one.turn === second?.turn
              ? [{ ...one, deadline: (rests?.at ?? 0) + msLeft }]
              : one.type === 'turn.ended' && one.turn === second?.turn
                ? [{ ...one, outcome }]
                : [one],
        ),
      ),
    )
  expect(judged(68, 'timed_out')).not.toContain('R12')
  expect(judged(68, 'cancelled')).toContain('R12')
  expect(judged(1500, 'timed_out')).toContain('R12')
})
