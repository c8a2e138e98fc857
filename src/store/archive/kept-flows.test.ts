import { expect, onTestFinished, test } from 'vitest'
import { append, created, ended, said, sent, started, testClock } from '../../../test/kits/store.ts'
import type { Event } from '../../model/event.ts'
import type { SessionId } from '../../model/id.ts'
import { sqliteStore, type SqliteStore } from '../sqlite.ts'
import { chooseFlows } from './choose-flows.ts'

const life = (session: SessionId, more: object): Event => ({ session, turn: null, ...more }) as Event
const archived = (session: SessionId): Event => life(session, { type: 'session.archived', cause: 'idle' })

/** One request that was answered, in a session of that kind. */
async function answered(kind: 'persistent' | 'external'): Promise<SqliteStore> {
  const store = sqliteStore({ directory: ':memory:', now: testClock().now })
  onTestFinished(() => store.close())
  await append(store, created('ses_a', kind), sent('ses_a', 'turn_1', { flow: 'flow_1' }))
  await append(store, started('ses_a', 'turn_1'))
  await append(store, ended('ses_a', 'turn_1', 1, said(1, 'asked', 'answered')))
  return store
}

const choose = ({ db }: SqliteStore): string[] =>
  [...chooseFlows(db, Number.MAX_SAFE_INTEGER)].flatMap((chosen) => (chosen === null ? [] : [chosen.flow]))

test('a flow stays in the log while somebody goes on from its session in a fork', async () => {
  const store = await answered('persistent')
  await append(store, archived('ses_a'), created('ses_fork'), {
    type: 'session.forked',
    session: 'ses_fork',
    turn: null,
    from: 'ses_a',
    entries: 2,
    back: 0,
  })
  expect(choose(store)).toEqual([])
  await append(store, archived('ses_fork'))
  expect(choose(store)).toEqual(['flow_1'])
})

test('a flow of a client stays in the log while its program has the session open', async () => {
  const store = await answered('external')
  await append(store, life('ses_a', { type: 'session.opened', program: 'opencode' }))
  expect(choose(store)).toEqual([])
  await append(store, life('ses_a', { type: 'session.closed', cause: 'gone' }))
  expect(choose(store)).toEqual(['flow_1'])
})
