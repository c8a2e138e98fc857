import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { admission } from './admission.ts'
import type { Identity } from './identity.ts'

test('who is nobody is counted by where it comes from: one that asks too often keeps nobody else out', () => {
  const identity = { of: () => ({ code: 'not_authenticated' }), learn: () => null } as unknown as Identity
  const admitting = admission({
    desks: { runs: () => true },
    identity,
    clock: { elapsed: () => 0 },
    host: '0.0.0.0',
    allowedHosts: ['here'],
    requestsPerMinute: 1,
    closing: new AbortController().signal,
  })
  admitting.open(4100)
  const from = (remoteAddress: string): unknown => {
    const request = { headers: { host: 'here' }, socket: { remoteAddress } } as unknown as IncomingMessage
    const checked = admitting.check(request, false)
    return 'status' in checked ? checked.status : checked.client
  }
  expect([from('10.0.0.1'), from('10.0.0.1'), from('10.0.0.2')]).toEqual([401, 429, 401])
})
