import { onTestFinished, expect, test } from 'vitest'
import { append, created, opened, sent } from '../../../test/kits/store.ts'
import { sqliteStore, type SqliteStore } from '../../store/sqlite.ts'
import { findNamed, UnknownId } from './scope.ts'

function opens(): SqliteStore {
  let at = 0
  const store = sqliteStore({ directory: ':memory:', now: () => (at += 1) })
  onTestFinished(() => store.close())
  return store
}

const asked = (id: string) => sent(`ses_${id}`, `turn_${id}`, { flow: `flow_${id}` })

/** What was found, or why nothing was; `reads` is how often the log was read that is not of one session. */
async function finding(log: SqliteStore, given: string): Promise<{ found: string; reads: number }> {
  let reads = 0
  const read: SqliteStore['read'] = (after, filter, limit) => {
    if (filter.sessions === undefined) reads += 1
    return log.read(after, filter, limit)
  }
  const store = new Proxy(log, {
    get: (of, name): unknown => (name === 'read' ? read : Reflect.get(of, name)),
  })
  const found = await findNamed(store, store.lists, given).then(
    ({ id }) => id,
    (fault: unknown) => (fault instanceof UnknownId ? fault.message : Promise.reject(fault as Error)),
  )
  return { found, reads }
}

test('explain read the whole log for a part of an id, and for one that is not there', async () => {
  const store = opens()
  for (const id of ['1000old', '2000new']) await append(store, created(`ses_${id}`), asked(id))
  const call = opened({ from: 'ses_2000new', in: 'turn_2000new', call: 'call_3000own', to: 'ses_3000own' })
  await append(store, { ...call, flow: 'flow_2000new' }, created('ses_3000own', 'ephemeral'))
  for (const id of ['ses_4000else', 'ses_4000idle'] as const) await append(store, created(id))
  const none = 'The newest are flow_2000new, flow_1000old.'
  for (const [given, found] of [
    ['last', 'flow_2000new'],
    ['1000', 'flow_1000old'],
    ['flow_2', 'flow_2000new'],
    ['2000new', 'flow_2000new'],
    ['ses_2', 'ses_2000new'],
    ['3000', 'call_3000own'],
    ['ses_3', 'ses_3000own'],
    ['4000i', 'ses_4000idle'],
    ['ses_4', '"ses_4" is a part of several ids: ses_4000idle, ses_4000else. Name one of them.'],
    ['nowhere', `no flow, call or session has "nowhere" in its id. ${none}`],
    ['flow_no', `there is no flow "flow_no" in this log. ${none}`],
    ['call_no', 'there is no call "call_no" in this log. The newest are call_3000own.'],
  ] as const)
    expect({ given, ...(await finding(store, given)) }).toEqual({ given, found, reads: 0 })
})

test('of very many ids that fit some are named', async () => {
  const store = opens()
  for (let n = 100; n < 130; n += 1) await append(store, created(`ses_b${n}`), asked(`b${n}`))
  expect((await finding(store, 'flow_b')).found).toMatch(/^"flow_b" is a part of several ids: .* and more\./)
})
