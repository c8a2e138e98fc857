import { expect, test } from 'vitest'
import type { Event, StoredEvent } from '../../model/event.ts'
import type { SessionId } from '../../model/id.ts'
import { createAudience } from './feed-audience.ts'

const renamed = (session: SessionId): Event => ({ type: 'session.renamed', session, turn: null, title: 't' })
const number = (...events: Event[]): StoredEvent[] =>
  events.map((event, index) => ({ seq: index + 1, at: 0, event }))

test('each listener is given what concerns it, once and in order; what others do does not reach it', () => {
  const audience = createAudience<{ name: string; sessions: ReadonlySet<SessionId> | null }>()
  const names = { all: null, a: ['ses_a'], alsoA: ['ses_a'], both: ['ses_b', 'ses_a'], c: ['ses_c'] } as const
  for (const [name, sessions] of Object.entries(names))
    audience.add({ name, sessions: sessions === null ? null : new Set(sessions) })
  const stored = number(renamed('ses_a'), renamed('ses_x'), renamed('ses_b'))
  const told = audience.concerned(stored)
  expect(Object.fromEntries(told.map(([{ name }, events]) => [name, events.map(({ seq }) => seq)]))).toEqual({
    all: [1, 2, 3],
    a: [1],
    alsoA: [1],
    both: [1, 3],
  })
  expect(told).toHaveLength(4)
  expect(audience.of('ses_c').map(({ name }) => name)).toEqual(['all', 'c'])
})

test('a call concerns its callee too, and a message whoever wrote it', () => {
  const audience = createAudience<{ name: string; sessions: ReadonlySet<SessionId> | null }>()
  for (const name of ['ses_caller', 'ses_callee', 'ses_writer'] as const)
    audience.add({ name, sessions: new Set([name]) })
  const sides = { session: 'ses_caller', target: 'ses_callee' }
  const events = [
    { type: 'call.opened', ...sides },
    { type: 'call.ended', ...sides },
    { type: 'message.sent', session: 'ses_caller', message: 'msg_1', from: 'ses_writer' },
  ] as Event[]
  const told = audience.concerned(number(...events))
  expect(Object.fromEntries(told.map(([{ name }, some]) => [name, some.map(({ seq }) => seq)]))).toEqual({
    ses_caller: [1, 2, 3],
    ses_callee: [1, 2],
    ses_writer: [3],
  })
})

test('who left is not told, and leaves nothing behind', () => {
  const audience = createAudience<{ sessions: ReadonlySet<SessionId> | null }>()
  const [one, other] = [{ sessions: new Set<SessionId>(['ses_a']) }, { sessions: null }]
  audience.add(one)
  audience.add(other)
  audience.remove(one)
  expect(audience.concerned(number(renamed('ses_a'))).map(([listener]) => listener)).toEqual([other])
  audience.remove(one)
  audience.remove(other)
  expect([audience.size(), audience.of('ses_a'), audience.concerned(number(renamed('ses_a')))]).toEqual([
    0,
    [],
    [],
  ])
})

test('a thousand who follow one session share one list of events, and are not asked about others', () => {
  const audience = createAudience<{ sessions: ReadonlySet<SessionId> | null }>()
  let asked = 0
  class Asked extends Set<SessionId> {
    override has(session: SessionId): boolean {
      asked += 1
      return super.has(session)
    }
  }
  for (let n = 0; n < 1000; n += 1) audience.add({ sessions: new Asked(['ses_a']) })
  expect(audience.concerned(number(renamed('ses_b')))).toEqual([])
  const told = audience.concerned(number(renamed('ses_b'), renamed('ses_a')))
  expect(told).toHaveLength(1000)
  expect(new Set(told.map(([, events]) => events)).size).toBe(1)
  expect(asked).toBe(0)
})
