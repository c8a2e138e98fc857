import { expect, test } from 'vitest'
import type { SessionRow } from '../../model/facts.ts'
import { noClient, type ClientFacts } from '../../model/presence.ts'
import type { Presence } from '../kernel/runtime.ts'
import { seeClient } from './presence.ts'
import type { Runtime } from './runtime.ts'

type Given = { facts?: Partial<ClientFacts>; driver?: string; isThere?: boolean; sign?: Partial<Presence> }

const see = (kind: SessionRow['kind'], active: boolean, given: Given) => {
  const sign = { state: 'idle', heardAt: 0, leftAt: null, waiter: null, onChange: new Set(), ...given.sign }
  const runtime = {
    lists: { client: async () => ({ ...noClient, ...given.facts }) },
    clock: { now: () => 1000, elapsed: () => 0 },
    agents: { get: () => ({ driver: given.driver ?? 'scripted' }), isThere: () => given.isThere ?? true },
    presence: new Map(given.sign === undefined ? [] : [['ses_1', sign]]),
    drain: { isOn: false },
    stopping: new AbortController(),
  } as unknown as Runtime
  return seeClient(runtime, { id: 'ses_1', kind, agent: 'a', cwd: '/' } as unknown as SessionRow, active)
}

test('a quiet time is shown while it lasts', async () => {
  expect((await see('external', false, { facts: { quietUntil: 1001 } })).quietUntil).toBe(1001)
  expect((await see('external', false, { facts: { quietUntil: 1000 } })).quietUntil).toBeNull()
})

test('a session that a connected program runs is there with its program, and works also between turns', async () => {
  const host = { driver: 'host' }
  expect(await see('persistent', false, host)).toMatchObject({ presence: 'idle', wakeable: true })
  expect(await see('persistent', true, host)).toMatchObject({ presence: 'working' })
  expect(await see('persistent', false, { ...host, sign: { state: 'working' } })).toMatchObject({
    presence: 'working',
  })
  expect(await see('persistent', true, { ...host, isThere: false })).toMatchObject({
    presence: 'away',
    wakeable: false,
  })
})

test('a session that no program ever had open has no presence; one that somebody waits for can be woken', async () => {
  expect(await see('external', false, {})).toMatchObject({ presence: null, wakeable: false })
  const facts = { program: 'p', open: true }
  expect(await see('external', false, { facts })).toMatchObject({ presence: 'away', wakeable: false })
  expect(await see('external', false, { facts, sign: {} })).toMatchObject({
    presence: 'idle',
    wakeable: false,
  })
  const waiter = new AbortController()
  expect(await see('external', false, { facts, sign: { waiter } })).toMatchObject({
    presence: 'idle',
    wakeable: true,
  })
})
