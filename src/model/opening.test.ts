import { expect, test } from 'vitest'
import type { Event } from './event.ts'
import { opensTurn } from './opening.ts'

const event = (type: string, turn: string | null, more: object = {}): Event =>
  ({ type, session: 'ses_1', turn, ...more }) as unknown as Event

test('a message opens a turn where it has one: when it is sent, or delivered as a turn of its own', () => {
  expect(opensTurn(event('message.sent', 'turn_1'))).toBe(true)
  expect(opensTurn(event('message.sent', null))).toBe(false)
  expect(opensTurn(event('message.delivered', 'turn_1', { opens: true }))).toBe(true)
  expect(opensTurn(event('message.delivered', 'turn_1', { opens: false }))).toBe(false)
  expect(opensTurn(event('message.delivered', null, { opens: true }))).toBe(false)
  expect(opensTurn(event('turn.started', 'turn_1', { opens: true }))).toBe(false)
})
