import { describe, expect, test } from 'vitest'
import {
  isBelieved,
  nameBare,
  nameClientProgram,
  nameClientSession,
  nameInbox,
  openAddress,
  pickAddress,
  plainName,
  readAddress,
  renderAddress,
  splitAddress,
} from './client-address.ts'
import type { SessionId } from './id.ts'

const row = (name: string, cwd: string): { id: SessionId; cwd: string } => ({
  id: nameInbox({ name }, cwd),
  cwd,
})

describe('A1: the session of a client', () => {
  test('has the id that the client has for it, wherever it works', () => {
    const one = nameClientSession({ name: 'Claude Code', session: 'abc', cwd: '/work/a', connection: '1' })
    expect(one).toBe('ses_client-Claude-Code_abc')
    expect(nameClientSession({ name: 'Claude Code', session: 'abc' })).toBe(one)
  })

  test('is told apart by its directory where the client has no id', () => {
    const name = (cwd: string): SessionId => nameClientSession({ name: 'codex', cwd, connection: '1' })
    expect(name('/work/a')).toMatch(/^ses_client-codex_a-[0-9a-f]{12}$/)
    expect(name('/other/a')).not.toBe(name('/work/a'))
  })

  test('is told apart by its connection where not even the directory is known', () => {
    expect(nameClientSession({ name: 'gemini', connection: '42' })).toBe('ses_client-gemini_42')
    expect(nameClientSession({ name: 'curl' })).toBe('ses_client-curl')
  })

  test('is short, and still its own', () => {
    const [one, two] = [1, 2].map((end) => nameClientSession({ name: 'x', session: 'y'.repeat(80) + end }))
    expect(one).not.toBe(two)
    expect(one?.length).toBeLessThan(110)
    expect(plainName('  Claude Code\u2028 (beta)/../x ')).toBe('Claude-Code-beta-..-x')
    expect(plainName('x'.repeat(100))).toHaveLength(40)
  })
})

describe('A2: an address', () => {
  const registered = [
    row('claude-code', '/home/me/api'),
    row('codex', '/home/me/api'),
    row('codex', '/home/me/web'),
  ]
  const pick = (given: string) => {
    const wanted = splitAddress(given)
    if (wanted === null) throw new Error('no address')
    return pickAddress(given, wanted, registered, false)
  }

  test('is read back from the session that has its inbox', () => {
    expect(readAddress(row('my_client', '/a/b_c'))).toEqual({ client: 'my_client', dir: '/a/b_c' })
    expect(readAddress({ id: 'ses_client-codex_thread', cwd: '/a' })).toBeNull()
    expect(readAddress({ id: 'ses_1', cwd: '/a' })).toBeNull()
  })

  test('is found whole, or by parts that fit one only', () => {
    expect(pick('codex@/home/me/web')).toEqual(registered[2])
    expect(pick('claude@api')).toEqual(registered[0])
    expect(pick('codex@web')).toEqual(registered[2])
  })

  test('a whole address wins over one that begins like it', () => {
    const longer = row('codex', '/home/me/api-2')
    const wanted = { client: 'codex', dir: '/home/me/api' }
    expect(pickAddress('', wanted, [longer, ...registered], false)).toEqual(registered[1])
  })

  test('A3: a whole path never means another directory that begins like it', () => {
    const longer = row('codex', '/home/me/other-2')
    const wanted = { client: 'codex', dir: '/home/me/other' }
    expect(pickAddress('', wanted, [longer], true)).toMatchObject({ code: 'session_unknown' })
    expect(pickAddress('', wanted, [longer], false)).toEqual(longer)
  })

  test('A3: where nobody has worked yet, it is opened for the one client that is meant', () => {
    const dir = '/home/me/new'
    expect(openAddress({ client: 'claude', dir }, [])).toEqual({ client: 'claude-code', dir })
    expect(openAddress({ client: 'opencode', dir }, [])).toEqual({ client: 'opencode', dir })
    expect(openAddress({ client: 'cli', dir }, [])).toBeNull()
    expect(openAddress({ client: 'zed', dir }, [])).toBeNull()
    expect(openAddress({ client: 'zed', dir }, [row('zed', '/home/me/api')])).toEqual({ client: 'zed', dir })
  })

  test('that fits several, or none, is refused with the candidates', () => {
    expect(pick('codex@me')).toEqual({
      code: 'session_ambiguous',
      session: 'codex@me',
      candidates: ['codex@/home/me/api', 'codex@/home/me/web'],
    })
    expect(pick('gemini@api')).toMatchObject({
      code: 'session_unknown',
      candidates: ['claude-code@/home/me/api', 'codex@/home/me/api', 'codex@/home/me/web'],
    })
  })

  test('is two parts around an @', () => {
    expect(splitAddress('codex@/a@b')).toEqual({ client: 'codex', dir: '/a@b' })
    for (const given of ['ses_1', '@api', 'codex@']) expect(splitAddress(given)).toBeNull()
  })
})

test('names of sessions are the same on every machine', () => {
  expect(nameInbox({ name: 'codex' }, '/work/api')).toBe('ses_client-codex_api-c24c3b6218aa')
  expect(nameClientSession({ name: 'x', session: 'y'.repeat(50) })).toBe(`ses_client-x_${'y'.repeat(50)}`)
  expect(nameClientSession({ name: 'x', session: 'y'.repeat(51) })).toBe(
    `ses_client-x_${'y'.repeat(37)}-1008aa5b1885`,
  )
  expect(nameBare({ name: 'curl' })).toBe('ses_client-curl')
  expect(nameBare({ name: '  ' })).toBe('ses_client-client')
  expect(nameClientSession({ name: 'x', session: '--', connection: '--' })).toBe('ses_client-x')
  expect(nameClientSession({ name: 'x', session: null, cwd: null, connection: null })).toBe('ses_client-x')
})

test.each([
  ['--a--b--', 'a--b'],
  ['a  b', 'a-b'],
  ['ａ１', 'a1'],
  ['a_b.c-d', 'a_b.c-d'],
  ['é', ''],
])('the plain name of %j is %j', (name, plain) => {
  expect(plainName(name)).toBe(plain)
})

test('what people call the program behind a session', () => {
  expect(nameClientProgram({ id: 'ses_client-codex_1_2', title: 'x' })).toBe('codex')
  expect(nameClientProgram({ id: 'ses_client-', title: 'x' })).toBe('a program')
  expect(nameClientProgram({ id: 'ses_1', title: 'My editor' })).toBe('My editor')
  expect(nameClientProgram({ id: 'ses_1', title: '' })).toBe('a program')
})

test('an address without a client, or of another directory, is none', () => {
  const inbox = nameInbox({ name: 'codex' }, '/work/api')
  expect(renderAddress({ client: 'codex', dir: '/work/api' })).toBe('codex@/work/api')
  expect(readAddress({ id: inbox, cwd: '/work/api' })).toEqual({ client: 'codex', dir: '/work/api' })
  expect(readAddress({ id: inbox, cwd: '/work/web' })).toBeNull()
  expect(
    readAddress({ id: inbox.replace('client-codex', 'client-') as SessionId, cwd: '/work/api' }),
  ).toBeNull()
  expect(
    readAddress({ id: inbox.replace('ses_client-', 'ses_other--') as SessionId, cwd: '/work/api' }),
  ).toBeNull()
})

test.each([
  ['claude', 'claude-code'],
  ['codex', 'codex-mcp-client'],
  ['copilot', 'copilot-cli'],
  ['gemini', 'gemini-cli-mcp-client'],
  ['open', 'opencode'],
  ['code', null],
  ['mcp-client', null],
])('%s means the program %s, where nobody has worked yet', (client, program) => {
  expect(openAddress({ client, dir: '/a' }, [])?.client ?? null).toBe(program)
})

test('a program that was seen counts once, and makes a part of its name unclear', () => {
  const seen = [row('codex-mcp-client', '/a'), row('codex-two', '/b'), { id: 'ses_1' as const, cwd: '/c' }]
  expect(openAddress({ client: 'codex', dir: '/d' }, seen.slice(0, 1))?.client).toBe('codex-mcp-client')
  expect(openAddress({ client: 'codex', dir: '/d' }, seen)).toBeNull()
})

test('ten candidates are named', () => {
  const many = Array.from({ length: 11 }, (_, n) => row('codex', `/work/n${n}`))
  const wanted = { client: 'codex', dir: 'work' }
  expect(pickAddress('codex@work', wanted, many, false)).toEqual({
    code: 'session_ambiguous',
    session: 'codex@work',
    candidates: many.slice(0, 10).map(({ cwd }) => `codex@${cwd}`),
  })
  expect(pickAddress('x@y', { client: 'x', dir: 'y' }, many, false)).toMatchObject({
    code: 'session_unknown',
    session: 'x@y',
    candidates: many.slice(0, 10).map(({ cwd }) => `codex@${cwd}`),
  })
  expect(pickAddress('codex@n1', { client: 'codex', dir: 'n9' }, many, false)).toEqual(many[9])
})

describe('A4: a client is believed', () => {
  test('in the directory of its process and below, and nowhere else', () => {
    expect(isBelieved('/work/a', '/work/a')).toBe(true)
    expect(isBelieved('/work/a/b', '/work/a')).toBe(true)
    expect(isBelieved('/work/ab', '/work/a')).toBe(false)
    expect(isBelieved('/work', '/work/a')).toBe(false)
    expect(isBelieved('/other/work/a', '/work/a')).toBe(false)
    expect(isBelieved('/work/a', '/')).toBe(true)
  })

  test('wherever it says that it works, where nobody can see that', () => {
    expect(isBelieved('/work/a', null)).toBe(true)
  })
})

test('a client may have a name of one letter', () => {
  expect(splitAddress('a@b')).toEqual({ client: 'a', dir: 'b' })
})

test('A3: the whole name of a program wins over others that contain it', () => {
  const dir = '/home/me/api'
  expect(openAddress({ client: 'claude-code', dir }, [row('claude-code-two', dir)])).toEqual({
    client: 'claude-code',
    dir,
  })
})
