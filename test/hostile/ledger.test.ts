import { expect, test } from 'vitest'
import type { Event } from '../../src/model/event.ts'
import { Ledger, lostOrDoubled, withoutOneEnd } from '../../hostile/ledger.ts'

const event = (type: string, fields: object): Event =>
  ({ type, session: 'ses_1', turn: null, ...fields }) as unknown as Event
const sent = (message: string): Event =>
  event('message.sent', {
    message,
    text: `letter ${message}`,
    turn: `turn_${message}`,
    grant: { agent: 'clerk' },
  })
const opened = (call: string, task: string): Event => event('call.opened', { call, task })
const ended = (call: string, outcome: string): Event => event('call.ended', { call, outcome })

function ledgerOf(): Ledger {
  const ledger = new Ledger()
  ledger.messages.set('a', 'ses_1')
  ledger.calls.set('k', { body: { task: 'work' }, call: 'call_1', outcome: 'completed' })
  return ledger
}
const good = [
  sent('a'),
  event('turn.ended', { turn: 'turn_a' }),
  opened('call_1', 'work'),
  ended('call_1', 'completed'),
]

test('a log with everything once is kept', () => {
  expect([lostOrDoubled(ledgerOf(), good), withoutOneEnd(good)]).toEqual([[], []])
})

test('a message that was lost or doubled is found', () => {
  expect(lostOrDoubled(ledgerOf(), good.slice(1))).toEqual(['message a is in the log 0 times'])
  expect(lostOrDoubled(ledgerOf(), [...good, sent('a')])).toEqual(['message a is in the log 2 times'])
})

test('a call that ended otherwise than it was answered, or ran twice, is found', () => {
  expect(lostOrDoubled(ledgerOf(), [...good.slice(0, 3), ended('call_1', 'lost')])).toEqual([
    'work was answered with completed (call_1), and the log has lost',
  ])
  expect(lostOrDoubled(ledgerOf(), [...good, opened('call_2', 'work')])).toEqual(['work was begun 2 times'])
})

test('a call or a turn without one outcome is found', () => {
  expect(withoutOneEnd([...good, ended('call_1', 'failed')])).toEqual(['call_1 has 2 outcomes'])
  expect(withoutOneEnd(good.slice(0, 1))).toEqual(['turn_a (clerk) has 0 ends'])
})
