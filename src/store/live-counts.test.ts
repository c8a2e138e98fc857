import { expect, test } from 'vitest'
import type { Event } from '../model/event.ts'
import { callEnded, created, ended, opened, sent, started } from '../../test/kits/store.ts'
import { Live } from './live.ts'

test('a call whose turn left memory is not counted as open for its caller for ever', () => {
  const live = new Live()
  const apply = (...events: Event[]): void => live.apply({ seq: 10, at: 1, events })
  const call = (from: string, to: string, tokens: number | null): Event => ({
    ...opened({ from: `ses_${from}`, in: `turn_${from}`, call: `call_${to}`, to: `ses_${to}`, tokens }),
    flow: 'flow_a',
  })
  apply(created('ses_a'), sent('ses_a', 'turn_a', { flow: 'flow_a' }), started('ses_a', 'turn_a'))
  apply(created('ses_b', 'ephemeral'), call('a', 'b', null), started('ses_b', 'turn_b'))
  // What holds something is in the views only, and so is how the call that made it ends.
  apply(created('ses_c', 'ephemeral'), call('b', 'c', 10), started('ses_c', 'turn_c'))
  apply(ended('ses_c', 'turn_c'), callEnded('ses_b', 'turn_b', 'call_c', 'ses_c'))
  apply(ended('ses_b', 'turn_b'), callEnded('ses_a', 'turn_a', 'call_b', 'ses_b'))
  apply(ended('ses_a', 'turn_a'))
  apply(sent('ses_a', 'turn_2', { flow: 'flow_2' }), started('ses_a', 'turn_2'))
  expect(live.open('turn_2', 1)?.openCalls ?? 0).toBe(0)
})

test('R11: calls that lie ahead, since the wall clock was set back, are not of the last minute', () => {
  const live = new Live()
  const hour = 3_600_000
  const apply = (at: number, ...events: Event[]): void => live.apply({ seq: 10, at, events })
  apply(hour, created('ses_a'), sent('ses_a', 'turn_a', { flow: 'flow_a' }), started('ses_a', 'turn_a'))
  const call = {
    ...opened({ from: 'ses_a', in: 'turn_a', call: 'call_b', to: 'ses_b' }),
    flow: 'flow_a' as const,
  }
  apply(hour, created('ses_b', 'ephemeral'), call)
  const lately = (now: number) => {
    const { callsLastMinute, oldestCallAt } = live.open('turn_a', now) ?? {}
    return [callsLastMinute, oldestCallAt]
  }
  expect([lately(hour), lately(hour + 60_000), lately(0)]).toEqual([
    [1, hour],
    [0, null],
    [0, null],
  ])
})
