import { expect, test } from 'vitest'
import { virtualClock } from '../test/kits/world.ts'
import { limitBook } from './adapters/limits/limit-book.ts'
import { modelSettings } from './agents.ts'
import { createAlarm } from './runtime/kernel/alarm.ts'

test('limits are kept for a provider of any name, also one that every object has', () => {
  const clock = virtualClock()
  const book = limitBook({ clock, directory: null })
  const { limits } = modelSettings({}, {}, clock, createAlarm(clock), (text) => text.length, null, book)
  for (const name of ['constructor', 'toString', '__proto__', 'none']) {
    expect(limits?.find(name)).toBeNull()
    limits?.note(name, 'over', 1000)
    expect(limits?.find(name)?.why).toBe('over')
  }
})
