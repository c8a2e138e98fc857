import { once } from 'node:events'
import { expect, test } from 'vitest'
import type { Hint } from '../runtime/kernel/store-port.ts'
import { tellAll } from './hints.ts'

test('a listener that throws keeps the others from nothing, and a warning says so', async () => {
  const heard: string[] = []
  const hear = (hints: readonly Hint[]): void => void heard.push(...hints.map(({ kind }) => kind))
  const breaks = (): never => {
    throw new Error('a listener broke')
  }
  const warned = once(process, 'warning') as Promise<[Error]>
  tellAll([hear, breaks, hear], [{ kind: 'turn.queued', session: 'ses_a' }])
  expect(heard).toEqual(['turn.queued', 'turn.queued'])
  expect((await warned)[0].message).toBe('a listener broke')
})
