import { expect, test } from 'vitest'
import type { Event, StoredEvent } from '../../model/event.ts'
import type { TurnRow } from '../../model/facts.ts'
import type { Recorded } from '../kernel/recorded.ts'
import type { Tx } from '../kernel/store-port.ts'
import { endOldWaits } from './old-waits.ts'
import type { Runtime } from './runtime.ts'

const wait = (type: 'wait.started' | 'wait.ended', turn: string, target: string): Event =>
  ({ type, session: 'ses_client', turn, target }) as unknown as Event

test('R5: who takes a turn over ends what that turn waited for, and nothing that others wait for', async () => {
  const log: StoredEvent[] = [
    wait('wait.started', 'turn_a', 'ses_x'),
    wait('wait.started', 'turn_b', 'ses_y'),
    wait('wait.started', 'turn_a', 'ses_z'),
    wait('wait.ended', 'turn_a', 'ses_z'),
  ].map((event, index) => ({ seq: index + 1, at: 0, event }))
  const ended: Event[] = []
  const tx = {
    activation: async () => ({ state: 'running', node: 'node_1', epoch: 2 }),
    append: (...events: Event[]) => void ended.push(...events),
  } as unknown as Tx
  const store = {
    read: async () => ({ events: log, more: false, next: log.length }),
    transact: (_keys: unknown, work: (tx: Tx) => Promise<unknown>) => work(tx),
  }
  const row = { id: 'turn_a', session: 'ses_client', openedSeq: 1, epoch: 2 } as unknown as TurnRow
  await endOldWaits({ store, node: 'node_1' } as unknown as Runtime, row, {
    runs: log,
  } as unknown as Recorded)
  expect(ended.map((event) => [event.type, event.turn, 'target' in event && event.target])).toEqual([
    ['wait.ended', 'turn_a', 'ses_x'],
  ])
})
