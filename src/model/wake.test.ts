import { describe, expect, test } from 'vitest'
import {
  choosePolicy,
  Moment,
  planAnnouncement,
  quietMsMax,
  wakeHourMs,
  WakePolicy,
  WakeSettings,
  wakesKeptMax,
  wakeStart,
  type WakeFacts,
} from './wake.ts'

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

test('K2: without settings mail comes with the next prompt, replies wake, six times an hour', () => {
  expect(settings).toEqual({ default: 'next', replies: 'wake', perHour: 6, codex: true, senders: {} })
  expect(WakePolicy.options).toEqual(['wake', 'next', 'hold'])
  expect(Moment.options).toEqual(['started', 'prompted', 'used', 'resting'])
  expect([wakesKeptMax, wakeHourMs, quietMsMax]).toEqual([100, 3_600_000, 2_592_000_000])
  expect(wakeStart(10_000_000)).toBe(6_400_000)
  expect(WakeSettings.safeParse({ perHour: 101 }).success).toBe(false)
  expect(WakeSettings.safeParse({ senders: { '': 'hold' } }).success).toBe(false)
})

test('K2: one message that is held keeps none of the others, and mail may wake too', () => {
  const mixed = WakeSettings.parse({ default: 'wake', replies: 'next', senders: { ses_b: 'hold' } })
  const waiting = [mail('held', { from: 'ses_b' }), reply('late'), mail('now')]
  expect(planAnnouncement(facts(waiting), mixed, 'resting')).toEqual({
    messages: ['late', 'now'],
    results: [],
    woken: 'mail now',
  })
  expect(planAnnouncement(facts([reply('late')], { results: ['call_1'] }), mixed, 'resting')).toBeNull()
})

test('K2: a client is known by its whole name, or by the part before a dash', () => {
  const from = 'ses_client-codex_1' as const
  const policy = (name: string): string =>
    choosePolicy(WakeSettings.parse({ senders: { [name]: 'hold' } }), mail('one', { from }))
  expect(['codex', 'codex-mcp', 'code', ''].map((name) => (name === '' ? 'next' : policy(name)))).toEqual([
    'hold',
    'next',
    'next',
    'next',
  ])
})

test('K7: a reply and a result wake once, for the reply; results that were told are not told again', () => {
  const both = facts([reply('one')], { results: ['call_1', 'call_2'], announced: new Set(['call_1']) })
  expect(planAnnouncement(both, settings, 'resting')).toEqual({
    messages: ['one'],
    results: ['call_2'],
    woken: 'reply one to mine',
  })
})
