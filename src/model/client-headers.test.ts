import { expect, test } from 'vitest'
import { clientSessionHeader, cwdHeader, isPath, readClientHeaders } from './client-headers.ts'

const read = (headers: Record<string, string>) => readClientHeaders((name) => headers[name])

test('a client says its session and its directory in these headers', () => {
  expect([clientSessionHeader, cwdHeader]).toEqual(['x-tieline-client-session', 'x-tieline-cwd'])
  expect(read({ 'x-tieline-client-session': 'abc', 'x-tieline-cwd': '/work/a' })).toEqual({
    session: 'abc',
    cwd: '/work/a',
  })
  expect(read({})).toEqual({ session: undefined, cwd: undefined })
})

test.each([
  ['/work', true],
  ['/', true],
  ['C:\\work', true],
  ['z:/work', true],
  ['work', false],
  ['./work', false],
  ['C:work', false],
  ['xC:\\work', false],
  ['1:/work', false],
  ['', false],
  ['/a\0b', false],
  [`/${'x'.repeat(4095)}`, true],
  [`/${'x'.repeat(4096)}`, false],
  [undefined, false],
])('%j is a whole path: %s', (path, whole) => {
  expect(isPath(path)).toBe(whole)
})

test.each([
  ['percent-encoded', '/work/%C3%A9%20x', '/work/é x'],
  ['not encoded, with a percent sign', '/work/100%', '/work/100%'],
  ['a variable that was not filled in', '/work/${cwd}', undefined],
  ['no whole path', 'work', undefined],
  ['no whole path once decoded', '%20/work', undefined],
])('a directory that is %s', (_what, header, cwd) => {
  expect(read({ [cwdHeader]: header })).toEqual({ session: undefined, cwd })
})

test.each([
  ['of 200 characters', 'x'.repeat(200), 'x'.repeat(200)],
  ['of 201 characters', 'x'.repeat(201), undefined],
  ['that was not filled in', '${session}', undefined],
  ['with a percent sign', '100%', '100%'],
])('a session %s', (_what, header, session) => {
  expect(read({ [clientSessionHeader]: header })).toEqual({ session, cwd: undefined })
})
