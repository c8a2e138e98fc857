import { expect, test } from 'vitest'
import { Refusal } from '../model/refusal.ts'
import { RefusedInput, toWireNo, faultToWireNo, WireError } from './wire-error.ts'
import { refusalStatus } from '../model/refusal-on-wire.ts'

test('every refusal has a status that says whose mistake it is', () => {
  const codes = Refusal.options.map((option) => option.shape.code.value)
  expect(Object.keys(refusalStatus).toSorted()).toEqual(codes.toSorted())
  for (const status of Object.values(refusalStatus))
    expect([400, 401, 403, 404, 409, 413, 422, 429, 503]).toContain(status)
})

test('a refusal keeps what it knows: the field, and the rest as details', () => {
  expect(
    toWireNo({ code: 'bad_input', field: 'cwd', given: 'nothing', expected: 'a directory' }),
  ).toMatchObject({
    status: 400,
    body: {
      error: { code: 'bad_input', field: 'cwd', details: { given: 'nothing', expected: 'a directory' } },
    },
  })
  expect(
    toWireNo({ code: 'session_ambiguous', session: 'x', candidates: ['a', 'b'] }, { call_id: 'call_1' }).body
      .error.details,
  ).toEqual({ session: 'x', candidates: ['a', 'b'], call_id: 'call_1' })
  expect(toWireNo({ code: 'not_authenticated' })).toEqual({
    status: 401,
    body: { error: { code: 'not_authenticated', message: expect.any(String) } },
    headers: { 'www-authenticate': expect.stringContaining('Bearer') },
  })
  expect(toWireNo({ code: 'rate_limited', what: 'requests', perMinute: 1, retryInMs: 1 }).headers).toEqual({
    'retry-after': '1',
  })
})

test("what the framework says of a client is the client's mistake; everything else is a bug that tells nothing", () => {
  const thrown = (code: string, statusCode: number): unknown =>
    Object.assign(new Error('inside'), { code, statusCode })
  expect(faultToWireNo(thrown('FST_ERR_CTP_BODY_TOO_LARGE', 413), 10).status).toBe(413)
  expect(faultToWireNo(thrown('FST_ERR_CTP_INVALID_MEDIA_TYPE', 415), 10).status).toBe(415)
  expect(faultToWireNo(thrown('FST_ERR_SOMETHING_NEW', 422), 10).status).toBe(400)
  expect(faultToWireNo(new RefusedInput({ code: 'call_unknown', call: 'x' }), 10).status).toBe(404)
  for (const error of [
    new Error('inside'),
    'inside',
    null,
    undefined,
    { statusCode: 404, message: 'inside' },
    thrown('ENOENT', 404),
    thrown('FST_ERR_X', 500),
  ]) {
    const no = faultToWireNo(error ?? new TypeError('inside'), 10)
    expect([no.status, no.body.error.code]).toEqual([500, 'bug'])
    expect(JSON.stringify(no.body)).not.toContain('inside')
    expect(WireError.safeParse(no.body).success).toBe(true)
  }
})
