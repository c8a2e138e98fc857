import { describe, expect, test } from 'vitest'
import { choosePolicy, planAnnouncement, WakeSettings, type WakeFacts } from './wake.ts'

const settings = WakeSettings.parse({})
const mail = (id: string, more: object = {}): WakeFacts['waiting'][number] => ({
  id,
  from: 'ses_a',
  inReplyTo: null,
  status: 'buffered',
  ...more,
})
const reply = (id: string): WakeFacts['waiting'][number] => mail(id, { inReplyTo: 'mine', status: 'ready' })
const facts = (waiting: WakeFacts['waiting'], more: Partial<WakeFacts> = {}): WakeFacts => ({
  waiting,
  announced: new Set(),
  wokenLastHour: 0,
  ...more,
})

describe('K1: a message is announced once', () => {
  test('what was announced is not announced again', () => {
    const before = facts([mail('one'), mail('two')], { announced: new Set(['one']) })
    expect(planAnnouncement(before, settings, 'prompted')).toEqual({ messages: ['two'], woken: null })
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

  test('hold announces nothing, at no moment', () => {
    const held = WakeSettings.parse({ default: 'hold', replies: 'hold' })
    for (const moment of ['started', 'prompted', 'used', 'resting'] as const)
      expect(planAnnouncement(facts([mail('one'), reply('two')]), held, moment)).toBeNull()
  })

  test('next is announced with the next prompt, and starts nothing', () => {
    expect(planAnnouncement(facts([mail('one')]), settings, 'resting')).toBeNull()
    expect(planAnnouncement(facts([mail('one')]), settings, 'used')).toEqual({
      messages: ['one'],
      woken: null,
    })
  })
})

test('K3: a session is started no more often than the limit, and is told with the next prompt then', () => {
  const often = facts([reply('one')], { wokenLastHour: 6 })
  expect(planAnnouncement(often, settings, 'resting')).toBeNull()
  expect(planAnnouncement(often, settings, 'prompted')).toEqual({ messages: ['one'], woken: null })
  expect(planAnnouncement({ ...often, wokenLastHour: 5 }, settings, 'resting')).toEqual({
    messages: ['one'],
    woken: 'reply one to mine',
  })
  const never = WakeSettings.parse({ perHour: 0 })
  expect(planAnnouncement(facts([reply('one')]), never, 'resting')).toBeNull()
})

test('K4: two messages at once start a session once, with everything that waits', () => {
  expect(planAnnouncement(facts([mail('one'), reply('two'), reply('three')]), settings, 'resting')).toEqual({
    messages: ['one', 'two', 'three'],
    woken: 'reply two to mine',
  })
})
