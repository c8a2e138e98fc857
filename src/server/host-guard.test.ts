import { expect, test } from 'vitest'
import { hostGuard, isLoopback } from './host-guard.ts'
import { startHttp } from './http.ts'

const passes = (
  bound: { host: string; port: number; allowed?: string[] },
  headers: Record<string, string>,
  localAddress?: string,
): boolean =>
  hostGuard({ allowed: [], ...bound }).check(
    { headers, socket: { localAddress, localPort: bound.port } },
    'refused',
  ) === null

test('on a network address the name is that address, and what is allowed besides', () => {
  const bound = { host: '192.168.1.5', port: 8283, allowed: ['agents.example'] }
  expect(passes(bound, { host: '192.168.1.5:8283' })).toBe(true)
  expect(passes(bound, { host: 'agents.example:8283' })).toBe(true)
  expect(passes(bound, { host: 'agents.example' })).toBe(true)
  expect(passes(bound, { host: 'evil.example:8283' })).toBe(false)
  expect(passes(bound, { host: '192.168.1.6:8283' })).toBe(false)
})

test('on every address the name is the one that the connection came in by', () => {
  const bound = { host: '0.0.0.0', port: 8283 }
  expect(passes(bound, { host: '10.0.0.7:8283' }, '10.0.0.7')).toBe(true)
  expect(passes(bound, { host: '10.0.0.7:8283' }, '::ffff:10.0.0.7')).toBe(true)
  expect(passes(bound, { host: '10.0.0.8:8283' }, '10.0.0.7')).toBe(false)
  expect(passes(bound, { host: 'evil.example:8283' }, '10.0.0.7')).toBe(false)
  expect(passes({ host: '::', port: 1 }, { host: '[fe80::1]:1' }, 'fe80::1')).toBe(true)
})

test('bound to one address, another that it came in by is not enough', () => {
  expect(passes({ host: '127.0.0.1', port: 1 }, { host: '10.0.0.7:1' }, '10.0.0.7')).toBe(false)
})

test('port 80 may be left out, as clients do', () => {
  expect(passes({ host: 'localhost', port: 80 }, { host: 'localhost' })).toBe(true)
  expect(passes({ host: 'localhost', port: 8080 }, { host: 'localhost' })).toBe(false)
})

test('an address of version 6 stands in brackets', () => {
  expect(passes({ host: '::1', port: 5 }, { host: '[::1]:5' })).toBe(true)
  expect(passes({ host: '::1', port: 5 }, { host: '::1:5' })).toBe(false)
})

test('an origin is that of the host, over either scheme', () => {
  const bound = { host: '127.0.0.1', port: 5, allowed: ['agents.example'] }
  expect(passes(bound, { host: 'agents.example', origin: 'https://agents.example' })).toBe(true)
  expect(passes(bound, { host: '127.0.0.1:5', origin: 'http://127.0.0.1:5' })).toBe(true)
  expect(passes(bound, { host: '127.0.0.1:5', origin: 'https://agents.example' })).toBe(false)
  expect(passes(bound, { host: '127.0.0.1:5', origin: 'file://127.0.0.1:5' })).toBe(false)
})

test('which addresses are of this machine alone', () => {
  for (const host of ['localhost', '127.0.0.1', '127.1.2.3', '::1']) expect(isLoopback(host)).toBe(true)
  for (const host of ['0.0.0.0', '::', '192.168.0.1', '127.example', 'localhost.example'])
    expect(isLoopback(host)).toBe(false)
})

test('a page of another site, also of the same domain, is refused where it is not allowed', () => {
  const check = (site: string, crossSite: 'refused' | 'allowed') =>
    hostGuard({ host: 'localhost', port: 1, allowed: [] }).check(
      { headers: { host: 'localhost:1', 'sec-fetch-site': site } },
      crossSite,
    )
  for (const site of ['cross-site', 'same-site']) {
    expect(check(site, 'refused')).toMatchObject({ code: 'not_allowed' })
    expect(check(site, 'allowed')).toBeNull()
  }
  for (const site of ['same-origin', 'none']) expect(check(site, 'refused')).toBeNull()
})

test('only addresses of this machine count as this machine', () => {
  const names = [
    '127.0.0.1',
    '127.9.9.9',
    'localhost',
    '::1',
    '127.example.com',
    '127',
    '128.0.0.1',
    '0.0.0.0',
  ]
  expect(names.filter(isLoopback)).toEqual(names.slice(0, 4))
})

test('a server that needs no token cannot be reached from other machines', async () => {
  for (const host of ['0.0.0.0', '192.168.1.5', 'example.com'])
    await expect(startHttp({ auth: 'open', host } as never)).rejects.toThrow('needs tokens')
})
