import { describe, expect, test } from 'vitest'
import type { Event, EventOf } from '../model/event.ts'
import type { Json } from '../model/json.ts'
import { redactorOf } from './redact.ts'

const step = (output: Json, input: Json = null): EventOf<'step.ended'> => ({ type: 'step.ended', session: 'ses_1', turn: 'turn_1', kind: 'tool', name: 'shell', key: 'k', input, ok: true, output, usage: null, startedAt: 0 })

function redacted(outputs: readonly Json[], env: Record<string, string> = {}): Json[] {
  const events = outputs.map((output) => step(output))
  const redactor = redactorOf(events, env)
  return events.map((event) => (redactor.redact(event) as EventOf<'step.ended'>).output)
}

describe('a secret is found', () => {
  test.each<[string, Json, Json]>([
    ['by the name of its field', { apiKey: 'abcdef123', nested: [{ 'set-cookie': ['id=7654321'] }] }, { apiKey: '[redacted-1]', nested: [{ 'set-cookie': ['[redacted-2]'] }] }],
    ['in a header, without its scheme', { Authorization: 'Bearer abcdefgh12345' }, { Authorization: 'Bearer [redacted-1]' }],
    ['in snake case', { access_token: 'abcdef123', client_secret: 'xyzxyz1' }, { access_token: '[redacted-1]', client_secret: '[redacted-2]' }],
    ['by its shape in a text', `use sk-${'a1'.repeat(12)} now`, 'use [redacted-1] now'],
    ['as a token of GitHub', `ghp_${'Ab1'.repeat(12)}`, '[redacted-1]'],
    ['after Bearer', 'curl -H "authorization: Bearer aaaa.bbbb-cccc"', 'curl -H "authorization: Bearer [redacted-1]"'],
    ['in an address', 'postgres://me:sesame99@db/x', 'postgres://me:[redacted-1]@db/x'],
    ['as an assignment', 'export DB_PASSWORD=verysecret1 && go', 'export DB_PASSWORD=[redacted-1] && go'],
    ['in JSON inside a text', '{"password":"letmein77"}', '{"password":"[redacted-1]"}'],
    ['as a private key', '-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----', '[redacted-1]'],
  ])('%s', (_how, given, left) => expect(redacted([given])).toEqual([left]))

  test('by the value of an environment variable that is named like a key', () => {
    expect(redacted(['the value is correct-horse, at home'], { SERVICE_TOKEN: 'correct-horse', HOME: 'at home', SHORT_KEY: 'is' })).toEqual(['the value is [redacted-1], at home'])
  })

  test('everywhere once it was found anywhere, with one mark, the longer one first', () => {
    expect(redacted(['say abcdef123', { password: 'abcdef123' }, { token: 'abcdef123456' }, 'abcdef123456 and abcdef123'])).toEqual(['say [redacted-1]', { password: '[redacted-1]' }, { token: '[redacted-2]' }, '[redacted-2] and [redacted-1]'])
  })
})

test('a text that was cut inside of a secret shows no part of it', () => {
  expect(redacted([{ password: 'correct-horse-battery' }, 'it is correct-horse-bat…', '… cut]\norse-battery is it', 'correct and battery'])).toEqual([{ password: '[redacted-1]' }, 'it is [redacted-1]…', '… cut]\n[redacted-1] is it', 'correct and battery'])
})

test('what only looks like one is left alone', () => {
  const plain: Json[] = [{ tokens: 'many', tokenCount: '12', keyboard: 'qwertz', monkey: 'george', key: 'ordinary', password: '' }, 'task-force sk-short', 'the secret of the token is its password', { token: 7 }]
  expect(redacted(plain)).toEqual(plain)
})

test('what was taken out before it was written keeps its mark, and is not counted again', () => {
  expect(redacted([{ password: '[redacted-7]' }, 'it is [redacted-7]', { token: 'abcdef123' }])).toEqual([{ password: '[redacted-7]' }, 'it is [redacted-7]', { token: '[redacted-1]' }])
})

test('a short value is taken out where it is named, and its letters are left everywhere else', () => {
  expect(redacted([{ password: 'abc' }, 'abc is the alphabet'])).toEqual([{ password: '[redacted-1]' }, 'abc is the alphabet'])
})

test('ids, keys and names of events are never touched; the hash of a task is that of what is left of it', () => {
  const opened: Event = { type: 'call.refused', session: 'ses_1', turn: 'turn_1', call: 'call_1', key: 'ses_1-secret', tool: 'sub_agent', agent: 'ses_1', task: 'use ses_1-secret', taskHash: 'old', requested: { password: 'ses_1-secret' }, refusal: { code: 'self_call', agent: 'a' } }
  const redactor = redactorOf([opened], {})
  expect(redactor.redact(opened)).toMatchObject({ session: 'ses_1', key: 'ses_1-secret', task: 'use [redacted-1]', requested: { password: '[redacted-1]' }, taskHash: expect.not.stringMatching(/^old$/) })
  expect(redactor.count()).toBe(1)
})
