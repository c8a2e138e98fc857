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

test('who is behind a request with the name of another host is not looked up', () => {
  let looked = 0
  const learn = async () => void (looked += 1)
  const admitting = admission({
    desks: { runs: () => true },
    identity: { learn } as unknown as Identity,
    clock: { elapsed: () => 0 },
    host: '127.0.0.1',
    allowedHosts: [],
    requestsPerMinute: 10,
    closing: new AbortController().signal,
  })
  admitting.open(4100)
  const from = (headers: object) => admitting.learn({ headers, socket: {} } as unknown as IncomingMessage)
  const foreign = [
    { host: 'evil.example:4100' },
    { host: 'localhost:4100', origin: 'http://evil.example' },
    { host: 'localhost:4100', 'sec-fetch-site': 'cross-site' },
  ]
  expect([...foreign.map(from), looked]).toEqual([null, null, null, 0])
  expect([from({ host: 'localhost:4100' }), looked]).toEqual([expect.any(Promise), 1])
})
