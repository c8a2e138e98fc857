import { describe, expect, test } from 'vitest'
import { choosePolicy, planAnnouncement, WakeSettings, type WakeFacts } from './wake.ts'

const settings = WakeSettings.parse({})
const mail = (id: string, more: object = {}): WakeFacts['waiting'][number] => ({
  id,
  from: 'ses_a',
  agent: null,
  inReplyTo: null,
  status: 'buffered',
  ...more,
})
const reply = (id: string): WakeFacts['waiting'][number] => mail(id, { inReplyTo: 'mine', status: 'ready' })
const facts = (waiting: WakeFacts['waiting'], more: Partial<WakeFacts> = {}): WakeFacts => ({
  waiting,
  results: [],
  isQuiet: false,
  announced: new Set(),
  wokenLastHour: 0,
  ...more,
})

describe('K1: a message is announced once', () => {
  test('what was announced is not announced again', () => {
    const before = facts([mail('one'), mail('two')], { announced: new Set(['one']) })
    expect(planAnnouncement(before, settings, 'prompted')).toEqual({
      messages: ['two'],
      results: [],
      woken: null,
    })
    expect(planAnnouncement({ ...before, announced: new Set(['one', 'two']) }, settings, 'used')).toBeNull()
  })

  test('what does not wait any more is not announced', () => {
    const over = facts([mail('one', { status: 'delivered' })])
    expect(planAnnouncement(over, settings, 'prompted')).toBeNull()
  })
})

describe('K2: the policy', () => {
  test('is that of the sender, of replies, or the default', () => {
    const own = WakeSettings.parse({ senders: { ses_a: 'hold' } })
    expect(choosePolicy(own, reply('one'))).toBe('hold')
    expect(choosePolicy(own, mail('one', { from: 'ses_b' }))).toBe('next')
    expect(choosePolicy(settings, reply('one'))).toBe('wake')
    expect(choosePolicy(settings, mail('one', { from: null }))).toBe('next')
  })

  test('the narrowest name of a sender wins: the session, its agent, its client', () => {
    const from = 'ses_client-codex-mcp-client_1' as const
    const sent = mail('one', { from, agent: 'external' })
    expect(choosePolicy(WakeSettings.parse({ senders: { codex: 'hold' } }), sent)).toBe('hold')
    expect(choosePolicy(WakeSettings.parse({ senders: { cod: 'hold' } }), sent)).toBe('next')
    const both = WakeSettings.parse({ senders: { codex: 'hold', external: 'wake' } })
    expect(choosePolicy(both, sent)).toBe('wake')
    expect(choosePolicy({ ...both, senders: { ...both.senders, [from]: 'next' } }, sent)).toBe('next')
  })

  test('an agent named constructor has the default', () => {
    expect(choosePolicy(settings, mail('one', { agent: 'constructor' }))).toBe('next')
  })

  test('hold announces nothing, at no moment', () => {
    const held = WakeSettings.parse({ default: 'hold', replies: 'hold' })
    for (const moment of ['started', 'prompted', 'used', 'resting'] as const)
      expect(planAnnouncement(facts([mail('one'), reply('two')]), held, moment)).toBeNull()
  })

  test('next is announced with the next prompt, and starts nothing', () => {
    expect(planAnnouncement(facts([mail('one')]), settings, 'resting')).toBeNull()
    expect(planAnnouncement(facts([mail('one')]), settings, 'used')).toEqual({
      messages: ['one'],
      results: [],
      woken: null,
    })
  })
})

test('K3: a session is started no more often than the limit, and is told with the next prompt then', () => {
  const often = facts([reply('one')], { wokenLastHour: 6 })
  expect(planAnnouncement(often, settings, 'resting')).toBeNull()
  expect(planAnnouncement(often, settings, 'prompted')).toEqual({
    messages: ['one'],
    results: [],
    woken: null,
  })
  expect(planAnnouncement({ ...often, wokenLastHour: 5 }, settings, 'resting')).toEqual({
    messages: ['one'],
    results: [],
    woken: 'reply one to mine',
  })
  const never = WakeSettings.parse({ perHour: 0 })
  expect(planAnnouncement(facts([reply('one')]), never, 'resting')).toBeNull()
})

test('K4: two messages at once start a session once, with everything that waits', () => {
  expect(planAnnouncement(facts([mail('one'), reply('two'), reply('three')]), settings, 'resting')).toEqual({
    messages: ['one', 'two', 'three'],
    results: [],
    woken: 'reply two to mine',
  })
})

test('K6: while a session is quiet, nothing is announced to it', () => {
  const quiet = facts([reply('one')], { isQuiet: true, results: ['call_1'] })
  for (const moment of ['started', 'prompted', 'used', 'resting'] as const)
    expect(planAnnouncement(quiet, settings, moment)).toBeNull()
})

test('K7: the result of a call of its own starts a session like a reply does, once', () => {
  const ended = facts([], { results: ['call_1'] })
  const plan = { messages: [], results: ['call_1'] }
  expect(planAnnouncement(ended, settings, 'resting')).toEqual({ ...plan, woken: 'result of call_1' })
  expect(planAnnouncement(ended, settings, 'used')).toEqual({ ...plan, woken: null })
  expect(planAnnouncement({ ...ended, announced: new Set(['call_1']) }, settings, 'used')).toBeNull()
  expect(planAnnouncement(ended, WakeSettings.parse({ replies: 'hold' }), 'used')).toBeNull()
})
