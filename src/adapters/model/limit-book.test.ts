import { expect, test } from 'vitest'
import { virtualClock } from '../../../test/kits/world.ts'
import { limitBook } from './limit-book.ts'

const broken = (status: number, retryAfterMs: number | null) => ({
  code: 'provider_error' as const,
  detail: `${status} slow down`,
  status,
  retry: true,
  retryAfterMs,
})

test('a limit that a provider reports is known until it is reset, or until the provider answers', async () => {
  const clock = virtualClock()
  const book = limitBook(clock)
  book.note('one', broken(500, 1000))
  expect(book.find('one')).toBeNull()
  book.note('one', broken(429, 90_000))
  expect(book.find('one')).toEqual({ why: '429 slow down', resetsAt: clock.now() + 90_000 })
  expect(book.find('two')).toBeNull()
  void clock.sleep(90_000)
  clock.tick()
  expect(book.find('one')).toBeNull()
  book.note('one', broken(429, null))
  expect(book.find('one')).not.toBeNull()
  book.forget('one')
  expect(book.find('one')).toBeNull()
})
