import { expect, test } from 'vitest'
import { askUntilAnswered } from './peers.ts'

test('a client on a starved machine is not refused because the look-up was late twice', async () => {
  const outcomes = [
    { kind: 'late' },
    { kind: 'broken', why: 'no thread' },
    { kind: 'answer', value: ['me'] },
  ] as const
  let asked = 0
  const found = await askUntilAnswered(() => {
    const outcome = outcomes[asked++]
    return outcome === undefined
      ? Promise.reject(new Error('asked too often'))
      : Promise.resolve(outcome.kind === 'answer' ? { ...outcome, value: [...outcome.value] } : outcome)
  })
  expect(found).toEqual(['me'])
})

test('a look-up that never ends leaves the peer unknown after three tries', async () => {
  let asked = 0
  const found = await askUntilAnswered(() => {
    asked += 1
    return Promise.resolve({ kind: 'late' as const })
  })
  expect([found, asked]).toEqual([[], 3])
})
