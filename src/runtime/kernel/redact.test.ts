import { describe, expect, test } from 'vitest'
import type { Event, EventOf } from '../../model/event.ts'
import type { Json } from '../../model/json.ts'
import { createRedactor } from './redact.ts'

const step = (output: Json, input: Json = null): EventOf<'step.ended'> => ({
  type: 'step.ended',
  session: 'ses_1',
  turn: 'turn_1',
  kind: 'tool',
  name: 'shell',
  key: 'k',
  input,
  ok: true,
  output,
  usage: null,
  startedAt: 0,
})

function redacted(outputs: readonly Json[], env: Record<string, string> = {}): Json[] {
  const events = outputs.map((output) => step(output))
  const redactor = createRedactor(env)
  return events.map((event) => (redactor.redact(event) as EventOf<'step.ended'>).output)
}

describe('a secret is found', () => {
  test.each<[string, Json, Json]>([
    [
      'by the name of its field',
      { apiKey: 'abcdef123', nested: [{ 'set-cookie': ['id=7654321'] }] },
      { apiKey: '[redacted]', nested: [{ 'set-cookie': ['[redacted]'] }] },
    ],
    [
      'in a header, without its scheme',
      { Authorization: 'Bearer abcdefgh12345' },
      { Authorization: 'Bearer [redacted]' },
    ],
    [
      'in snake case',
      { access_token: 'abcdef123', client_secret: 'xyzxyz1' },
      { access_token: '[redacted]', client_secret: '[redacted]' },
    ],
    ['by its shape in a text', `use sk-${'a1'.repeat(12)} now`, 'use [redacted] now'],
    ['as a token of GitHub', `ghp_${'Ab1'.repeat(12)}`, '[redacted]'],
    [
      'after Bearer',
      'curl -H "authorization: Bearer aaaa.bbbb-cccc"',
      'curl -H "authorization: Bearer [redacted]"',
    ],
    ['in an address', 'postgres://me:sesame99@db/x', 'postgres://me:[redacted]@db/x'],
    ['as an assignment', 'export DB_PASSWORD=verysecret1 && go', 'export DB_PASSWORD=[redacted] && go'],
    ['in JSON inside a text', '{"password":"letmein77"}', '{"password":"[redacted]"}'],
    ['as a private key', '-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----', '[redacted]'],
  ])('%s', (_how, given, left) => expect(redacted([given])).toEqual([left]))

  test('by the value of an environment variable that is named like a key', () => {
    expect(
      redacted(['the value is correct-horse, at home'], {
        SERVICE_TOKEN: 'correct-horse',
        HOME: 'at home',
        SHORT_KEY: 'is',
      }),
    ).toEqual(['the value is [redacted], at home'])
  })
})

test('what an agent calls a password is masked there, and nothing that others wrote changes', () => {
  expect(redacted([{ password: 'abcdef123' }, 'say abcdef123', 'B is abcdef123'])).toEqual([
    { password: '[redacted]' },
    'say abcdef123',
    'B is abcdef123',
  ])
})

test('stricter than the log: what may be a secret is masked', () => {
  expect(
    redacted([
      'sk-learn-compatible-estimators',
      'Bearer abcdefgh',
      'DB_PASSWORD=postgres',
      '{"token":"identifier"}',
      'http://me:you@host',
    ]),
  ).toEqual([
    '[redacted]',
    'Bearer [redacted]',
    'DB_PASSWORD=[redacted]',
    '{"token":"[redacted]"}',
    'http://me:[redacted]@host',
  ])
})

test('what only looks like one is left alone', () => {
  const plain: Json[] = [
    { tokens: 'many', tokenCount: '12', keyboard: 'qwertz', monkey: 'george', key: 'ordinary', password: '' },
    'task-force sk-short',
    'the secret of the token is its password',
    { token: 7 },
  ]
  expect(redacted(plain)).toEqual(plain)
})

test('what was taken out before it was written keeps its mark, and is not counted again', () => {
  expect(redacted([{ password: '[redacted]' }, 'it is [redacted]', { token: 'abcdef123' }])).toEqual([
    { password: '[redacted]' },
    'it is [redacted]',
    { token: '[redacted]' },
  ])
})

test('a short value is taken out where it is named, and its letters are left everywhere else', () => {
  expect(redacted([{ password: 'abc' }, 'abc is the alphabet'])).toEqual([
    { password: '[redacted]' },
    'abc is the alphabet',
  ])
})

test('ids, keys and names of events are never touched; the hash of a task is that of what is left of it', () => {
  const opened: Event = {
    type: 'call.refused',
    session: 'ses_1',
    turn: 'turn_1',
    call: 'call_1',
    key: 'hunter2hunter2',
    tool: 'sub_agent',
    agent: 'ses_1',
    task: 'DB_PASSWORD=hunter2hunter2',
    taskHash: 'old',
    requested: { password: 'hunter2hunter2' },
    refusal: { code: 'self_call', agent: 'a' },
  }
  const redactor = createRedactor({})
  expect(redactor.redact(opened)).toMatchObject({
    session: 'ses_1',
    key: 'hunter2hunter2',
    task: 'DB_PASSWORD=[redacted]',
    requested: { password: '[redacted]' },
    taskHash: expect.not.stringMatching(/^old$/),
  })
  expect(redactor.count()).toBe(1)
})
