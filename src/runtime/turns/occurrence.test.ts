import { expect, test } from 'vitest'
import type { Running } from '../kernel/running.ts'
import { giveBack, occurrence, type Step } from './occurrence.ts'

const begin = (): Running => ({ begun: new Map() }) as unknown as Running

test('the last step that is given back is the same step when it is tried again', () => {
  const running = begin()
  const [first, second]: Step[] = [{ key: null }, { key: null }] as const
  expect([occurrence(running, 'r', first), occurrence(running, 'r', second)]).toEqual(['r', 'r#2'])
  expect(occurrence(running, 'r', second)).toBe('r#2')
  giveBack(running, second as Step)
  expect(occurrence(running, 'r', { key: null })).toBe('r#2')
})

test('a step that is given back after another began keeps its number, and nobody else gets it', () => {
  const running = begin()
  const first: Step = { key: null }
  occurrence(running, 'r', first)
  expect(occurrence(running, 'r', { key: null })).toBe('r#2')
  giveBack(running, first)
  expect(occurrence(running, 'r', { key: null })).toBe('r#3')
  expect(occurrence(running, 'r', first)).toBe('r')
})
