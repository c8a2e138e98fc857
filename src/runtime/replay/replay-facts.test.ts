import { expect, test } from 'vitest'
import { nothingSpent } from '../../model/money.ts'
import type { Refusal } from '../../model/refusal.ts'
import type { RecordedCall } from '../kernel/recorded.ts'
import type { Running } from '../kernel/running.ts'
import { openFactsThen } from './replay-facts.ts'

const at = 1_000_000
const running = {
  row: { grant: { tokensMax: null }, call: null, deadline: at + 1000 },
  session: { kind: 'persistent' },
  tokensUsed: 0,
  spent: nothingSpent,
} as unknown as Running

const factsOf = (refusal: Refusal) => {
  const recorded = { type: 'call.refused', refusal } as unknown as RecordedCall
  return openFactsThen(running, null, { recorded, at, ownEnd: null, cancelled: null, targetAgent: undefined })
}

test('a call that came too soon is replayed with as long to wait as it was told', () => {
  const facts = factsOf({ code: 'rate_limited', perMinute: 30, retryInMs: 12_000 } as Refusal)
  expect(facts.callsLastMinute).toBe(30)
  // The oldest call of the last minute is forgotten a minute after it was opened.
  expect((facts.oldestCallAt ?? 0) + 60_000 - at).toBe(12_000)
})

test('a ring of calls that wait is replayed with the hops behind the caller', () => {
  const path = ['boss (ses_1)', 'coder (ses_2)', 'boss (ses_1)']
  const facts = factsOf({ code: 'call_deadlock', path } as unknown as Refusal)
  expect(facts.target?.waitPath).toEqual([
    { agent: 'coder', session: 'ses_2' },
    { agent: 'boss', session: 'ses_1' },
  ])
})
