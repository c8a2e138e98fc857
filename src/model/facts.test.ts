import { expect, test } from 'vitest'
import { MessageStatus } from './facts.ts'

test('the life of a message has these states', () => {
  expect(MessageStatus.options.join(' ')).toBe('draft ready buffered queued delivered answered declined dead')
})
