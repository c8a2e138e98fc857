import { expect, test } from 'vitest'
import { deriveActId } from './route.ts'
import type { Who } from '../runtime/desk/asker.ts'

const idOf = (
  key: string | undefined,
  who: Who = { kind: 'user' },
  method = 'POST',
  url = '/api/calls',
): unknown =>
  deriveActId(
    { headers: { 'idempotency-key': key }, method, routeOptions: { url } } as unknown as Parameters<
      typeof deriveActId
    >[0],
    who,
  )

test('the same key of the same client for the same thing is the same act, and everything else another', () => {
  const first = idOf('k')
  expect(first).toEqual({ id: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/) })
  expect(idOf('k')).toEqual(first)
  const others = [
    idOf('l'),
    idOf('k', { kind: 'session', session: 'ses_1' }),
    idOf('k', { kind: 'session', session: 'ses_2' }),
    idOf('k', { kind: 'turn', turn: 'turn_1' }),
    idOf('k', { kind: 'user' }, 'PUT'),
    idOf('k', { kind: 'user' }, 'POST', '/api/sessions'),
  ]
  expect(new Set([first, ...others].map((one) => JSON.stringify(one))).size).toBe(7)
})

test('without a key every request is an act of its own', () => expect(idOf(undefined)).toEqual({ id: null }))

test('a key of which one cannot be sure what it is, is refused', () => {
  for (const key of ['', 'x'.repeat(256), 'a\nb', '\u007f', '\u0085'])
    expect(idOf(key)).toMatchObject({ code: 'bad_input', field: 'Idempotency-Key' })
  for (const key of ['x'.repeat(255), ' ', 'schlüssel', '"quoted"']) expect(idOf(key)).toHaveProperty('id')
})
