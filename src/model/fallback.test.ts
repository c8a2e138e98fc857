import { expect, test } from 'vitest'
import { describeMove, describeStepMove, hasBegun, joinMoves, listNext } from './fallback.ts'

const nothing = { said: ' \n', tools: 0, calls: 0, tokensUsed: 0 }

test('a turn has begun once it has said, used, called or paid for something', () => {
  expect(hasBegun(nothing)).toBe(false)
  expect(hasBegun({ ...nothing, said: 'I begin' })).toBe(true)
  expect(hasBegun({ ...nothing, tools: 1 })).toBe(true)
  expect(hasBegun({ ...nothing, calls: 1 })).toBe(true)
  expect(hasBegun({ ...nothing, tokensUsed: 1 })).toBe(true)
})

test('those are tried that come after the one that was tried last', () => {
  expect(listNext(['y', 'z'], 'x')).toEqual(['y', 'z'])
  expect(listNext(['y', 'z'], 'y')).toEqual(['z'])
  expect(listNext(['y', 'z'], 'z')).toEqual([])
})

test('several moves read as one, from the first that was asked to the last, with every reason', () => {
  const first = { from: 'x', to: 'y', why: 'over its limit' }
  const both = joinMoves(joinMoves(null, first), { from: 'y', to: 'z', why: 'down' })
  expect(joinMoves(null, first)).toBe(first)
  expect(both).toEqual({ from: 'x', to: 'z', why: 'over its limit; y: down' })
  expect(describeMove(both)).toBe('x could not do it, so z did: over its limit; y: down')
  expect(describeStepMove(first)).toBe('x could not do it, so y did: over its limit')
  expect(describeStepMove(null)).toBe('another agent took over')
})
